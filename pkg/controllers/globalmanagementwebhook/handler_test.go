package globalmanagementwebhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// TestRefusals sends what is refused, each with its own status, and looks whether
// anything was written.
func TestRefusals(t *testing.T) {
	w := newWorld(t, 1)
	w.must(w.event(gm.Bound, binding(5)), gm.Stored, 5)
	good := func() sent {
		return w.sign(gm.EventsPath, gm.Event{EventID: "e-6", Type: gm.Changed, Binding: binding(6, viewer)})
	}
	event := func(change func(*gm.Event)) sent {
		e := gm.Event{EventID: "e-6", Type: gm.Changed, Binding: binding(6)}
		change(&e)
		return w.sign(gm.EventsPath, e)
	}
	with := func(s sent, change func(*sent)) sent {
		change(&s)
		return s
	}
	signedAt := func(at time.Time) sent {
		return with(good(), func(s *sent) { s.timestamp, s.signature = gm.Sign(secret, at, []byte(s.body)) })
	}
	before := w.picture()
	for _, c := range []struct {
		reason string
		sent   sent
		status int
		code   gm.Code
		field  string
	}{
		{"no such path", with(good(), func(s *sent) { s.path = "/global-management/v2/events" }), 404, gm.UnknownPath, ""},
		{"a path beside it", with(good(), func(s *sent) { s.path = gm.EventsPath + "/" }), 404, gm.UnknownPath, ""},
		{"another method", with(good(), func(s *sent) { s.method = http.MethodGet }), 405, gm.MethodNotAllowed, ""},
		{"PUT is not POST", with(good(), func(s *sent) { s.method, s.path = http.MethodPut, gm.ResyncPath }), 405, gm.MethodNotAllowed, ""},
		{"no signature", with(good(), func(s *sent) { s.signature = "" }), 401, gm.WrongSignature, ""},
		{"no timestamp", with(good(), func(s *sent) { s.timestamp = "" }), 401, gm.WrongSignature, ""},
		{"another sender's signature", with(good(), func(s *sent) { _, s.signature = gm.Sign([]byte(strings.Repeat("x", 32)), w.clock, []byte(s.body)) }), 401, gm.WrongSignature, ""},
		{"another body", with(good(), func(s *sent) { s.body += " " }), 401, gm.WrongSignature, ""},
		{"two signatures", with(good(), func(s *sent) { s.header = http.Header{gm.SignatureHeader: {s.signature}} }), 401, gm.WrongSignature, ""},
		{"two timestamps", with(good(), func(s *sent) { s.header = http.Header{gm.TimestampHeader: {"1"}} }), 401, gm.WrongSignature, ""},
		{"nothing but a path: the body is not even read as an event", sent{method: http.MethodPost, path: gm.EventsPath, body: "{"}, 401, gm.WrongSignature, ""},
		{"too old", signedAt(w.clock.Add(-gm.DefaultTolerance - time.Millisecond)), 410, gm.StaleTimestamp, ""},
		{"from the future", signedAt(w.clock.Add(gm.DefaultTolerance + time.Millisecond)), 410, gm.StaleTimestamp, ""},
		{"a body beyond the limit", w.sign(gm.EventsPath, strings.Repeat(" ", gm.MaxEventBytes+1)), 413, gm.TooLarge, ""},
		{"a resync beyond the limit", w.sign(gm.ResyncPath, strings.Repeat(" ", gm.MaxResyncBytes+1)), 413, gm.TooLarge, ""},
		{"a body at the limit is read", w.sign(gm.EventsPath, strings.Repeat(" ", gm.MaxEventBytes)), 400, gm.Malformed, ""},
		{"no JSON", w.sign(gm.EventsPath, "hello"), 400, gm.Malformed, ""},
		{"an unknown name", w.sign(gm.EventsPath, strings.Replace(goodEvent, `"role"`, `"rolle"`, 1)), 400, gm.Malformed, "rolle"},
		{"a name twice", w.sign(gm.EventsPath, strings.Replace(goodEvent, `"role"`, `"role":"admin","role"`, 1)), 400, gm.Malformed, "role"},
		{"something after it", w.sign(gm.EventsPath, goodEvent+"{}"), 400, gm.Malformed, ""},
		{"an unknown role", event(func(e *gm.Event) { e.Role = "owner" }), 400, gm.Malformed, "role"},
		{"an event at the other path", with(good(), func(s *sent) { s.path = gm.ResyncPath }), 400, gm.Malformed, "eventID"},
		{"a resync at the other path", w.sign(gm.EventsPath, gm.Resync{AsOf: 1, Bindings: []gm.Binding{}}), 400, gm.Malformed, "asOf"},
		{"a resync without bindings", w.sign(gm.ResyncPath, `{"asOf":1}`), 400, gm.Malformed, "bindings"},
		{"a resync with one that is wrong changes none", w.sign(gm.ResyncPath, gm.Resync{AsOf: w.clock.UnixMilli() - 60_000, Bindings: []gm.Binding{
			binding(9, viewer), binding(1, func(b *gm.Binding) { b.BindingID, b.Role = "b-2", "owner" }),
		}}), 400, gm.Malformed, "bindings[1].role"},
		{"a resync of the future", w.sign(gm.ResyncPath, gm.Resync{AsOf: w.clock.UnixMilli() + 1, Bindings: []gm.Binding{}}), 400, gm.Malformed, "asOf"},
		{"an instance that does not exist", event(func(e *gm.Event) { e.BindingID, e.Instance = "b-2", "gamma" }), 404, gm.UnknownInstance, "instance"},
		{"the end of what never was, where nothing is", event(func(e *gm.Event) { e.BindingID, e.Instance, e.Type = "b-2", "gamma", gm.Unbound }), 404, gm.UnknownInstance, "instance"},
		{"another event with a sequence", event(func(e *gm.Event) { e.Sequence = 5 }), 409, gm.SequenceConflict, "sequence"},
		{"another subject", event(func(e *gm.Event) { e.Subject.Name = "bob" }), 409, gm.BindingConflict, "subject"},
		{"another instance", event(func(e *gm.Event) { e.Instance = "beta" }), 409, gm.BindingConflict, "instance"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			answer := w.send(w.replicas[0], c.sent)
			w.refused(answer, c.status, c.code)
			if answer.refusal.Field != c.field {
				t.Errorf("blames %q, want %q: %s", answer.refusal.Field, c.field, answer.refusal.Message)
			}
			if after := w.picture(); after != before {
				t.Errorf("something was written:\n%s\nwas:\n%s", after, before)
			}
		})
	}
	w.must(w.send(w.replicas[0], good()), gm.Stored, 6) // Nothing of it is in the way of what is right.
}

func TestLifeOfABinding(t *testing.T) {
	w := newWorld(t, 1)
	w.must(w.event(gm.Bound, binding(1)), gm.Stored, 1)
	first := w.stored("b-1")
	spec := specOf(binding(1))
	spec.Source = first.Spec.Source
	if diff := cmp.Diff(*spec, first.Spec); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if s := first.Spec.Source; s.EventID != "e-1" || len(s.DeliveryDigest) != 64 || s.IssuedAt.UnixMilli() != w.clock.UnixMilli()-1 {
		t.Errorf("its source is %+v", s)
	}
	if first.Labels[v1alpha1.ManagedByLabel] != v1alpha1.ManagedByValue || first.Labels[v1alpha1.InstanceLabel] != "alpha" {
		t.Errorf("labels %v", first.Labels)
	}

	w.must(w.event(gm.Changed, binding(3, viewer, everywhere)), gm.Stored, 3)
	w.must(w.event(gm.Changed, binding(2)), gm.Superseded, 3)
	w.must(w.event(gm.Changed, binding(3, viewer, everywhere)), gm.Duplicate, 3)
	if now := w.stored("b-1"); now.Spec.Role != v1alpha1.RoleViewer || len(now.Spec.Namespaces) != 0 || now.UID != first.UID {
		t.Errorf("stored %+v", now.Spec)
	}
	w.must(w.event(gm.Unbound, binding(4, viewer, everywhere)), gm.Stored, 4)
	w.must(w.event(gm.Bound, binding(1)), gm.Superseded, 4)
	if now := w.stored("b-1"); !now.Spec.Revoked || now.Spec.Source.Sequence != 4 {
		t.Errorf("stored %+v", now.Spec)
	}
	w.must(w.event(gm.Bound, binding(5)), gm.Stored, 5)
	if now := w.stored("b-1"); now.Spec.Revoked {
		t.Errorf("stored %+v", now.Spec)
	}
	w.must(w.event(gm.Unbound, binding(2, func(b *gm.Binding) { b.BindingID = "b-2" })), gm.Stored, 2)
	w.must(w.event(gm.Bound, binding(1, func(b *gm.Binding) { b.BindingID = "b-2" })), gm.Superseded, 2)
}

func TestRolesCanBeTakenAwayFromAnInstanceThatIsGone(t *testing.T) {
	w := newWorld(t, 1)
	object := &v1alpha1.InstanceRoleBinding{}
	object.Name = v1alpha1.BindingName("b-1")
	object.Spec = *specOf(binding(1, func(b *gm.Binding) { b.Instance = "gone" }))
	object.Spec.Source.EventID = "e-1"
	if err := w.kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	gone := func(b *gm.Binding) { b.Instance = "gone" }
	w.refused(w.event(gm.Changed, binding(2, gone, viewer)), 404, gm.UnknownInstance)
	w.must(w.event(gm.Unbound, binding(3, gone)), gm.Stored, 3)
}

func TestReplays(t *testing.T) {
	w := newWorld(t, 2)
	s := w.sign(gm.EventsPath, gm.Event{EventID: "e-1", Type: gm.Bound, Binding: binding(1)})
	w.must(w.send(w.replicas[0], s), gm.Stored, 1)
	before := w.picture()
	w.refused(w.send(w.replicas[0], s), 409, gm.Replay)
	w.refused(w.send(w.replicas[1], s), 409, gm.Replay) // It knows by what is stored.
	w.refused(w.send(w.replicas[1], s), 409, gm.Replay) // And now alone.
	late := w.sign(gm.EventsPath, "no event")
	w.refused(w.send(w.replicas[0], late), 400, gm.Malformed)
	w.refused(w.send(w.replicas[0], late), 409, gm.Replay)
	if after := w.picture(); after != before {
		t.Errorf("a replay was written:\n%s\nwas:\n%s", after, before)
	}
	w.must(w.event(gm.Changed, binding(2, viewer)), gm.Stored, 2)
	if w.send(w.replicas[1], s).status != 409 {
		t.Error("a replay is forgotten once there is a later event")
	}
	// A replica that was restarted knows only the last event; the others are late.
	w.must(w.send(w.replica(w.kube), s), gm.Superseded, 2)

	again := w.sign(gm.EventsPath, gm.Event{EventID: "e-2", Type: gm.Changed, Binding: binding(2, viewer)})
	results := make(chan got, 8)
	var wg sync.WaitGroup
	for range cap(results) {
		wg.Go(func() { results <- w.send(w.replicas[0], again) })
	}
	wg.Wait()
	close(results)
	count := map[int]int{}
	for g := range results {
		count[g.status]++
	}
	if count[200] != 1 || count[409] != cap(results)-1 {
		t.Errorf("the same request at the same moment: %v, want one to be the first", count)
	}
}

func TestEitherSecret(t *testing.T) {
	w := newWorld(t, 1)
	for i, by := range [][]byte{secret, otherSecret} {
		s := w.sign(gm.EventsPath, gm.Event{EventID: fmt.Sprint(i), Type: gm.Bound, Binding: binding(int64(i + 1))})
		s.timestamp, s.signature = gm.Sign(by, w.clock, []byte(s.body))
		w.must(w.send(w.replicas[0], s), gm.Stored, int64(i+1))
	}
}

// TestConcurrentEvents sends events of few bindings at once, in any order and some
// twice, to two replicas.
func TestConcurrentEvents(t *testing.T) {
	const bindings, sequences = 50, 5
	w := newWorld(t, 2)
	var all []sent
	for b := range bindings {
		for sequence := int64(1); sequence <= sequences; sequence++ {
			e := gm.Event{EventID: fmt.Sprintf("e-%d-%d", b, sequence), Type: gm.Changed, Binding: binding(sequence, func(x *gm.Binding) {
				x.BindingID, x.Namespaces = fmt.Sprintf("b-%d", b), []string{fmt.Sprintf("at-%d", sequence)}
			})}
			if sequence == sequences && b%5 == 0 {
				e.Type = gm.Unbound
			}
			all = append(all, w.sign(gm.EventsPath, e), w.sign(gm.EventsPath, e))
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var wg sync.WaitGroup
	var refused atomic.Int32
	for i, s := range all {
		wg.Go(func() {
			if g := w.send(w.replicas[i%2], s); g.status != http.StatusOK {
				refused.Add(1)
				t.Errorf("%+v for %s", g, s.body)
			}
		})
	}
	wg.Wait()
	for b := range bindings {
		got := w.stored(fmt.Sprintf("b-%d", b)).Spec
		if got.Source.Sequence != sequences || !slices.Equal(got.Namespaces, []string{fmt.Sprintf("at-%d", sequences)}) || got.Revoked != (b%5 == 0) {
			t.Errorf("b-%d ends as %+v", b, got)
		}
	}
}

func TestTroubleWithTheAPIServer(t *testing.T) {
	w := newWorld(t, 0)
	gr := schema.GroupResource{Group: v1alpha1.GroupName, Resource: "instancerolebindings"}
	conflict := apierrors.NewConflict(gr, "gm", errors.New("changed"))
	for _, c := range []struct {
		reason string
		verb   string
		err    error
		times  int // that it fails
		status int
		after  string // Retry-After
	}{
		{"a reading that fails", "get", errors.New("gone"), 1, 503, "1"},
		{"a writing that fails", "create", errors.New("gone"), 1, 503, "1"},
		{"a busy apiserver says when", "create", apierrors.NewTooManyRequests("busy", 9), 1, 503, "9"},
		{"one that does not let us", "create", apierrors.NewForbidden(gr, "gm", errors.New("no")), 1, 503, "1"},
		{"another client was faster", "create", apierrors.NewAlreadyExists(gr, "gm"), 3, 200, ""},
		{"another client changes it all the time", "create", conflict, 1_000_000, 503, "1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			failures := 0
			h := w.replica(w.failing(func(verb string) error {
				if verb == c.verb && failures < c.times {
					failures++
					return c.err
				}
				return nil
			}))
			before := w.picture()
			b := binding(1, func(b *gm.Binding) { b.BindingID = t.Name() })
			g := w.send(h, w.sign(gm.EventsPath, gm.Event{EventID: "e-1", Type: gm.Bound, Binding: b}))
			if g.status != c.status || g.retryAfter != c.after {
				t.Fatalf("got %+v, want %d and Retry-After %q", g, c.status, c.after)
			}
			if c.status == 200 {
				return
			}
			if g.refusal.Code != gm.Unavailable || strings.Contains(g.refusal.Message, "gone") {
				t.Errorf("got %+v", g.refusal)
			}
			if failures > maxTries {
				t.Errorf("%d tries", failures)
			}
			if after := w.picture(); after != before {
				t.Errorf("something was written:\n%s", after)
			}
			if c.times == 1 { // Then it is stored at the next attempt.
				w.must(w.send(h, w.sign(gm.EventsPath, gm.Event{EventID: "e-1", Type: gm.Bound, Binding: b})), gm.Stored, 1)
			}
		})
	}
	t.Run("an answer that was lost: it was written, and the next attempt says so", func(t *testing.T) {
		lost := false
		h := w.replica(w.failing(func(string) error { return nil }))
		inner := h.store.kube
		h.store.kube = w.failing(func(verb string) error {
			if verb == "create" && !lost {
				lost = true
				object := &v1alpha1.InstanceRoleBinding{}
				object.Name, object.Spec = v1alpha1.BindingName("b-lost"), *specOf(binding(1, func(b *gm.Binding) { b.BindingID = "b-lost" }))
				object.Spec.Source.EventID = "e-1"
				if err := inner.Create(t.Context(), object); err != nil {
					t.Error(err)
				}
				return errors.New("connection reset")
			}
			return nil
		})
		e := gm.Event{EventID: "e-1", Type: gm.Bound, Binding: binding(1, func(b *gm.Binding) { b.BindingID = "b-lost" })}
		w.refused(w.send(h, w.sign(gm.EventsPath, e)), 503, gm.Unavailable)
		w.must(w.send(h, w.sign(gm.EventsPath, e)), gm.Duplicate, 1)
	})
	t.Run("what is too much at once is for later", func(t *testing.T) {
		h := w.replica(w.kube)
		for range maxEvents {
			h.events <- struct{}{}
		}
		g := w.send(h, w.sign(gm.EventsPath, goodEvent))
		w.refused(g, 503, gm.Unavailable)
		if g.retryAfter != "1" {
			t.Errorf("got %+v", g)
		}
	})
}

// TestNoise throws 10,000 random requests at a replica with a real apiserver
// behind it: broken events with right signatures, right events with broken
// signatures, and noise.
func TestNoise(t *testing.T) {
	const requests = 10_000
	w := newWorld(t, 1)
	w.must(w.event(gm.Bound, binding(5)), gm.Stored, 5)
	before := w.picture()
	random := rand.New(rand.NewPCG(1, 2))
	valid, err := json.Marshal(gm.Event{EventID: "e-9", Type: gm.Unbound, Binding: binding(9)})
	if err != nil {
		t.Fatal(err)
	}
	resync, err := json.Marshal(gm.Resync{AsOf: w.clock.UnixMilli(), Bindings: []gm.Binding{}})
	if err != nil {
		t.Fatal(err)
	}
	statuses := map[int]int{}
	for i := range requests {
		path, body := gm.EventsPath, valid
		if random.IntN(2) == 0 {
			path, body = gm.ResyncPath, resync
		}
		s := w.sign(path, string(body))
		switch i % 5 {
		case 0: // A right event with a signature that is not.
			s.signature = mutate(random, s.signature)
		case 1: // With a timestamp that is not.
			s.timestamp = mutate(random, s.timestamp)
		case 2: // A body that was changed on its way.
			s.body = mutate(random, s.body)
		case 3: // A broken body that was signed so. What became a right one is made wrong.
			s = w.sign(path, mutate(random, string(body))+"]")
		case 4: // Noise that was signed.
			noise := make([]byte, random.IntN(300))
			for j := range noise {
				noise[j] = byte(random.IntN(256))
			}
			s = w.sign(path, string(noise))
		}
		g := w.send(w.replicas[0], s)
		statuses[g.status]++
		if g.status != 400 && g.status != 401 && g.status != 409 && g.status != 410 {
			t.Fatalf("request %d is answered with %+v: %+v", i, g, s)
		}
	}
	if after := w.picture(); after != before {
		t.Errorf("something was written:\n%s\nwas:\n%s", after, before)
	}
	if statuses[400] < requests/4 || statuses[401] < requests/4 {
		t.Errorf("the noise does not reach every check: %v", statuses)
	}
	t.Logf("answers by status: %v", statuses)
}

// mutate changes, removes, doubles or adds some bytes of a text. It is never the
// text itself.
func mutate(random *rand.Rand, text string) string {
	for {
		b := []byte(text)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(b) + 1)
			switch kind := random.IntN(4); {
			case kind == 0 || at == len(b):
				b = slices.Insert(b, at, byte(random.IntN(128)))
			case kind == 1:
				b[at] = byte(random.IntN(128))
			case kind == 2:
				b = slices.Delete(b, at, min(len(b), at+1+random.IntN(8)))
			default:
				b = slices.Insert(b, at, b[at:min(len(b), at+1+random.IntN(8))]...)
			}
		}
		// Spaces at the end of a header are none of its value.
		if strings.TrimSpace(string(b)) != text && !bytes.ContainsAny(b, "\r\n\x00") {
			return string(b)
		}
	}
}

// FuzzHandler looks for a request that is accepted without having been signed, or
// that makes the handler panic. Nothing is behind it that could be written to.
func FuzzHandler(f *testing.F) {
	f.Add("1767268800000", "sha256=", []byte(goodEvent), false)
	f.Add("", "", []byte("{}"), false)
	f.Add("0", "sha256="+strings.Repeat("0", 64), []byte(`{"asOf":1,"bindings":[]}`), true)
	f.Add("9999999999999", "sha1=00", []byte("\x00"), true)
	f.Fuzz(func(t *testing.T, timestamp, signature string, body []byte, resync bool) {
		w := &world{T: t, clock: noon}
		h := w.replica(nil) // A nil client: whatever reads or writes panics.
		path := gm.EventsPath
		if resync {
			path = gm.ResyncPath
		}
		g := w.send(h, sent{method: http.MethodPost, path: path, body: string(body), timestamp: timestamp, signature: signature})
		if g.status != 401 && g.status != 410 && g.status != 413 {
			t.Errorf("answered with %+v", g)
		}
	})
}

// TestTheAPIServersOwnRefusal stores, past our own checks, what the apiserver
// refuses: were its rules stricter than ours some day, the sender still learns
// which field is wrong, in the words of the protocol.
func TestTheAPIServersOwnRefusal(t *testing.T) {
	w := newWorld(t, 1)
	for field, change := range map[string]func(*gm.Binding){
		"namespaces[1]": func(b *gm.Binding) { b.Namespaces = []string{"shop", "No-Namespace"} },
		"role":          func(b *gm.Binding) { b.Role = "owner" },
		"subject.name":  func(b *gm.Binding) { b.Subject.Name = "system:anonymous" },
		"bindingID":     func(b *gm.Binding) { b.BindingID = strings.Repeat("x", gm.MaxIDLength+1) },
	} {
		event := gm.Event{EventID: "e-1", Type: gm.Bound, Binding: binding(1, change)}
		_, refused := w.replicas[0].store.decideAndWrite(t.Context(), v1alpha1.BindingName(event.BindingID), nil, names{"alpha": true}, func(stored *v1alpha1.InstanceRoleBinding) (decision, *refusal) {
			return decideEvent(stored, event, gm.Delivery{IssuedAt: w.clock, Digest: digest("1")})
		})
		if refused == nil || refused.Code != gm.Malformed || refused.Field != field || refused.Message == "" {
			t.Errorf("%s: got %+v", field, refused)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t, 1)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.replicas[0].received)
	value := func(path, result string) float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() { // Labels are sorted by name.
				if l := m.GetLabel(); l[0].GetValue() == path && l[1].GetValue() == result {
					return m.GetCounter().GetValue()
				}
			}
		}
		return 0
	}
	for _, c := range []struct {
		path, result string
		do           func()
	}{
		{"events", "stored", func() { w.event(gm.Bound, binding(1)) }},
		{"events", "duplicate", func() { w.event(gm.Bound, binding(1)) }},
		{"events", "WRONG_SIGNATURE", func() { w.send(w.replicas[0], sent{method: http.MethodPost, path: gm.EventsPath}) }},
		{"resync", "stored", func() { w.send(w.replicas[0], w.sign(gm.ResyncPath, gm.Resync{AsOf: 1, Bindings: []gm.Binding{}})) }},
		{"other", "UNKNOWN_PATH", func() { w.send(w.replicas[0], sent{method: http.MethodPost, path: "/chosen-by-a-stranger"}) }},
	} {
		before := value(c.path, c.result)
		c.do()
		if value(c.path, c.result) != before+1 {
			t.Errorf("%s %s is not counted", c.path, c.result)
		}
	}
}
