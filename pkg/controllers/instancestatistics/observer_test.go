package instancestatistics

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// karmada is a server that lists and watches as an apiserver does.
type karmada struct {
	*httptest.Server
	// open is how many watches are under way, and lists how often something was
	// listed, or sent at the beginning of a watch.
	open, lists atomic.Int32

	mu sync.Mutex
	// deny are kinds that it does not serve.
	deny map[string]int
	// objects are JSON, by resource; the open watches get changes.
	objects map[string][]string
	changes map[string][]chan string
}

func newKarmada(t *testing.T) *karmada {
	t.Helper()
	k := &karmada{objects: map[string][]string{}, changes: map[string][]chan string{}, deny: map[string]int{}}
	k.Server = httptest.NewUnstartedServer(k)
	k.Config.ErrorLog = log.New(io.Discard, "", 0)
	k.EnableHTTP2 = true
	k.StartTLS()
	t.Cleanup(func() { k.CloseClientConnections(); k.Close() })
	return k
}

func (k *karmada) connection() connection.Connection {
	return connection.Connection{
		Endpoint: k.URL, Token: "t",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.Certificate().Raw}),
	}
}

// send is a change of one object.
func (k *karmada) send(resource, kind, change, object string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, to := range k.changes[resource] {
		to <- fmt.Sprintf(`{"type":%q,"object":%s}`, change, k.whole(resource, kind, object))
	}
}

// refuse ends the watches of a kind and answers nothing else about it any more; with
// no status it serves the kind again.
func (k *karmada) refuse(resource string, status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if status == 0 {
		delete(k.deny, resource)
		return
	}
	k.deny[resource] = status
	for _, to := range k.changes[resource] {
		close(to)
	}
	delete(k.changes, resource)
}

// whole adds what every object has.
func (k *karmada) whole(resource, kind, object string) string {
	all := map[string]any{}
	_ = json.Unmarshal([]byte(object), &all)
	for _, s := range sources {
		if s.resource == resource {
			all["apiVersion"] = s.version.String()
		}
	}
	all["kind"] = kind
	meta, _ := all["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["resourceVersion"] = "7"
	all["metadata"] = meta
	out, _ := json.Marshal(all)
	return string(out)
}

func (k *karmada) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := path.Base(r.URL.Path)
	k.mu.Lock()
	status, denied := k.deny[resource]
	k.mu.Unlock()
	if denied {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q}`, status, map[int]string{403: "Forbidden", 404: "NotFound"}[status])
		return
	}
	kind, version := "", ""
	for _, s := range sources {
		if s.resource == resource {
			kind, version = s.kind, s.version.String()
		}
	}
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	if query.Get("watch") == "" {
		k.lists.Add(1)
		k.mu.Lock()
		defer k.mu.Unlock()
		var items []string
		for _, object := range k.objects[resource] {
			items = append(items, k.whole(resource, kind, object))
		}
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"7"},"items":[%s]}`, version, kind, strings.Join(items, ","))
		return
	}
	if query.Get("sendInitialEvents") == "true" {
		// As an older apiserver: the reflector lists instead.
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":422,"reason":"Invalid"}`)
		return
	}
	k.open.Add(1)
	defer k.open.Add(-1)
	changes := make(chan string, 100)
	k.mu.Lock()
	k.changes[resource] = append(k.changes[resource], changes)
	k.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case change, more := <-changes:
			if !more {
				return
			}
			fmt.Fprintln(w, change)
			flusher.Flush()
		}
	}
}

// within is how long a test waits, generously: the machine may be busy.
const within = 2 * time.Minute

// stage is the observers of one instance or more.
type stage struct {
	*testing.T
	observers observers
	pool      connections.Pool
	lost      chan event.GenericEvent
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, lost: make(chan event.GenericEvent, 100)}
	s.observers.init(new(atomic.Int64))
	return s
}

func (s *stage) observe(name string, to connection.Connection) *observer {
	s.Helper()
	conn, err := s.pool.Of(connections.Instance(name), to)
	if err != nil {
		s.Fatal(err)
	}
	seen, err := s.observers.of(name, conn, s.lost)
	if err != nil {
		s.Fatal(err)
	}
	return seen
}

// comesToRest waits until all kinds are known and no more changes are reported.
func (s *stage) comesToRest(o *observer) {
	s.Helper()
	poll.True(s.T, within, "the instance is known", o.known)
	for {
		select {
		case <-s.observers.changed:
		case <-time.After(3 * debounceInterval):
			return
		}
	}
}

func TestChangesAreCollected(t *testing.T) {
	k, s := newKarmada(t), newStage(t)
	k.objects["clusters"] = []string{m1}
	o := s.observe("alpha", k.connection())
	s.comesToRest(o)
	poll.True(t, within, "every kind is watched", func() bool { return int(k.open.Load()) == len(sources) })
	if again := s.observe("alpha", k.connection()); again != o {
		t.Error("the same connection gave another observer")
	}

	const rollout = 50
	for i := range rollout {
		k.send("deployments", "Deployment", "ADDED", fmt.Sprintf(`{"metadata":{"name":"d%d","namespace":"x"}}`, i))
	}
	poll.True(t, within, "all of them are counted", func() bool { return len(o.figures()["Deployment"]) == rollout })
	reported := 0
	for quiet := false; !quiet; {
		select {
		case <-s.observers.changed:
			reported++
		case <-time.After(3 * debounceInterval):
			quiet = true
		}
	}
	if reported == 0 || reported > 5 {
		t.Errorf("%d changes at once were told %d times", rollout, reported)
	}

	// A change that does not affect the counts is not reported.
	k.send("deployments", "Deployment", "MODIFIED", `{"metadata":{"name":"d0","namespace":"x","labels":{"a":"b"}},"status":{"conditions":[{"type":"Progressing"}]}}`)
	k.send("deployments", "Deployment", "MODIFIED", `{"metadata":{"name":"d1","namespace":"x"},"spec":{"replicas":7}}`)
	select {
	case <-s.observers.changed:
		t.Error("a change that changes no figure was told")
	case <-time.After(3 * debounceInterval):
	}

	k.send("deployments", "Deployment", "DELETED", `{"metadata":{"name":"d0","namespace":"x"}}`)
	poll.True(t, within, "a deletion is counted", func() bool { return len(o.figures()["Deployment"]) == rollout-1 })
	if got := int(k.lists.Load()); got != len(sources) {
		t.Errorf("there were %d lists, want one of each of the %d kinds", got, len(sources))
	}
	s.observers.forget("alpha")
}

func TestNoWatchIsLeftBehind(t *testing.T) {
	k, other, s := newKarmada(t), newKarmada(t), newStage(t)
	all := len(sources)
	open := func(what string, server *karmada, want int) {
		t.Helper()
		poll.True(t, within, fmt.Sprintf("%s: %d watches", what, want), func() bool { return int(server.open.Load()) == want })
	}
	s.observe("alpha", k.connection())
	s.observe("beta", other.connection())
	open("an instance is watched", k, all)
	open("so is the other", other, all)

	rotated := k.connection()
	rotated.Token = "rotated"
	s.observe("alpha", rotated)
	open("with new credentials", k, all)
	poll.True(t, within, "the old credentials are not used any more", func() bool { return s.observers.watches.Load() == int64(2*all) })

	s.observers.forget("alpha")
	poll.True(t, within, "when it was forgotten, the other instance's run", func() bool { return s.observers.watches.Load() == int64(all) })
	open("the instance is deleted", k, 0)
	open("the other is not", other, all)

	s.pool.Forget(connections.Instance("beta"))
	open("its connection was closed", other, 0)
	s.observe("beta", other.connection())
	open("it is watched again", other, all)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.observers.Start(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	open("the manager ends", other, 0)
	poll.True(t, within, "none runs", func() bool { return s.observers.watches.Load() == 0 })
}

func TestABrokenConnectionIsReported(t *testing.T) {
	k, s := newKarmada(t), newStage(t)
	o := s.observe("alpha", k.connection())
	s.comesToRest(o)
	poll.True(t, within, "every kind is watched", func() bool { return int(k.open.Load()) == len(sources) })
	k.Listener.Close() // First, so that nothing connects again in between.
	k.CloseClientConnections()
	select {
	case reported := <-s.lost:
		if reported.Object.GetName() != "alpha" {
			t.Errorf("told of %q", reported.Object.GetName())
		}
	case <-time.After(30 * time.Second):
		t.Error("no event was sent")
	}
	s.observers.forget("alpha")
}

func TestWhatMayNotBeReadIsLeftOut(t *testing.T) {
	k, s := newKarmada(t), newStage(t)
	k.deny["jobs"], k.deny["clusteroverridepolicies"] = http.StatusForbidden, http.StatusNotFound
	o := s.observe("alpha", k.connection())
	poll.True(t, within, "the rest is known", o.known)
	f := o.figures()
	for _, kind := range []string{"Job", "ClusterOverridePolicy"} {
		if _, read := f[kind]; read {
			t.Errorf("%s is counted", kind)
		}
	}
	if len(f) != len(sources)-2 {
		t.Errorf("%d kinds are counted, want %d", len(f), len(sources)-2)
	}
	if len(s.lost) > 0 {
		t.Error("a refusal counts as a broken connection")
	}
	s.observers.forget("alpha")
}

func TestStartsAreBounded(t *testing.T) {
	s := newStage(t)
	hanging := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hanging.Close()
	to := connection.Connection{
		Endpoint: hanging.URL, Token: "t",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hanging.Certificate().Raw}),
	}
	for i := range 3 * starting {
		s.observe(fmt.Sprintf("i%d", i), to)
	}
	poll.True(t, within, "as many as there are slots begin", func() bool { return len(s.observers.slots) == starting })
	for i := range 3 * starting {
		s.observers.forget(fmt.Sprintf("i%d", i))
	}
	poll.True(t, within, "all slots are given back", func() bool { return len(s.observers.slots) == 0 })
}

// TestWaitingForASlotIsNoStart has an instance wait longer than a start may take, which is no time
// at all.
func TestWaitingForASlotIsNoStart(t *testing.T) {
	k, s := newKarmada(t), newStage(t)
	s.observers.patience = time.Nanosecond
	for range starting {
		s.observers.slots <- struct{}{}
	}
	o := s.observe("alpha", k.connection())
	defer s.observers.forget("alpha")
	if err := o.stores[0].Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if o.known() {
		t.Error("what had no time to come is left out")
	}
	<-s.observers.slots
	poll.True(t, within, "every kind is counted", func() bool { return o.known() && len(o.figures()) == len(sources) })
}
