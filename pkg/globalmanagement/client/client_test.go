package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/globalmanagement/client"
)

const secret = "0123456789abcdef0123456789abcdef"

var binding = gm.Binding{BindingID: "b-1", Sequence: 3, Subject: gm.Subject{Kind: gm.User, Name: "alice"}, Role: gm.Editor, Instance: "alpha"}

// answer is what the fake of Kairship says to one request.
type answer struct {
	status int
	body   string
	header map[string]string
	// cut ends the connection instead.
	cut bool
}

func refuse(status int, code gm.Code) answer {
	return answer{status: status, body: fmt.Sprintf(`{"code":%q,"field":"role","message":"because"}`, code)}
}

var stored = answer{status: http.StatusOK, body: `{"result":"stored","bindingID":"b-1","sequence":3,"object":"gm-1"}`}

// kairship is a server that returns the prepared answers one after the other, the last one forever,
// and records the requests.
type kairship struct {
	*httptest.Server
	mu         sync.Mutex
	bodies     []string
	timestamps []string
	paths      []string
}

func serve(t *testing.T, answers ...answer) *kairship {
	t.Helper()
	k := &kairship{}
	k.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		timestamp := r.Header.Get(gm.TimestampHeader)
		if _, err := (gm.Verifier{}).Verify([][]byte{[]byte(secret)}, timestamp, r.Header.Get(gm.SignatureHeader), body); err != nil {
			t.Errorf("the signature: %v", err)
		}
		k.mu.Lock()
		k.bodies, k.timestamps, k.paths = append(k.bodies, string(body)), append(k.timestamps, timestamp), append(k.paths, r.Method+" "+r.URL.Path)
		a := answers[min(len(k.bodies), len(answers))-1]
		k.mu.Unlock()
		if a.cut {
			panic(http.ErrAbortHandler)
		}
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *kairship) received() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.bodies)
}

// connect makes a client that does not sleep, and notes how long it would have.
func connect(t *testing.T, pauses *[]time.Duration, servers ...*kairship) *client.Client {
	t.Helper()
	o := client.Options{
		Secret:   func(context.Context) ([]byte, error) { return []byte(secret + "\n"), nil },
		Attempts: 4,
		Sleep: func(ctx context.Context, pause time.Duration) error {
			if pauses != nil {
				*pauses = append(*pauses, pause)
			}
			return ctx.Err()
		},
	}
	for _, s := range servers {
		o.URLs, o.HTTP = append(o.URLs, s.URL), s.Client()
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		reason    string
		answers   []answer
		is        error // errors.Is; nil when the call succeeds
		temporary bool
		attempts  int
	}{
		{"stored at once", []answer{stored}, nil, false, 1},
		{"what is busy is asked again", []answer{refuse(503, gm.Unavailable), refuse(503, gm.Unavailable), stored}, nil, false, 3},
		{"what stays busy is given up", []answer{refuse(503, gm.Unavailable)}, client.ErrUnavailable, true, 4},
		{"a proxy's own failure is asked again", []answer{{status: 502, body: "<html>"}, {status: 429}, stored}, nil, false, 3},
		{"a connection that breaks is asked again", []answer{{cut: true}, stored}, nil, false, 2},
		{"a replay is cured by a new signature", []answer{refuse(409, gm.Replay), stored}, nil, false, 2},
		{"a request that came late is signed anew", []answer{refuse(410, gm.StaleTimestamp), stored}, nil, false, 2},
		{"clocks that differ are reported in the end", []answer{refuse(410, gm.StaleTimestamp)}, client.ErrStaleTimestamp, true, 4},
		{"malformed stays malformed", []answer{refuse(400, gm.Malformed)}, client.ErrMalformed, false, 1},
		{"a wrong signature stays wrong", []answer{refuse(401, gm.WrongSignature)}, client.ErrWrongSignature, false, 1},
		{"an unknown instance", []answer{refuse(404, gm.UnknownInstance)}, client.ErrUnknownInstance, false, 1},
		{"another event with that sequence", []answer{refuse(409, gm.SequenceConflict)}, client.ErrSequenceConflict, false, 1},
		{"too large", []answer{refuse(413, gm.TooLarge)}, client.ErrTooLarge, false, 1},
		{"a 404 of another server means nothing for an instance", []answer{{status: 404, body: "404 page not found"}}, nil, false, 1},
		{"a success of another server is none", []answer{{status: 200, body: "<html>"}}, nil, false, 1},
		{"redirects are not followed", []answer{{status: 307, header: map[string]string{"Location": "/elsewhere"}}}, nil, false, 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			k := serve(t, c.answers...)
			receipt, err := connect(t, nil, k).Bind(t.Context(), binding)
			if got := k.received(); got != c.attempts {
				t.Errorf("%d requests, want %d", got, c.attempts)
			}
			last := c.answers[min(len(c.answers), c.attempts)-1]
			if last.status == http.StatusOK && last.body == stored.body {
				want := gm.Receipt{Result: gm.Stored, BindingID: "b-1", Sequence: 3, Object: "gm-1"}
				if diff := cmp.Diff(want, receipt); err != nil || diff != "" {
					t.Errorf("error %v, receipt (-want +got):\n%s", err, diff)
				}
				return
			}
			failure, ok := errors.AsType[*client.Error](err)
			if !ok {
				t.Fatalf("got %T %v, want an *Error", err, err)
			}
			if failure.Status != last.status || failure.Attempts != c.attempts {
				t.Errorf("status %d after %d attempts, want %d after %d", failure.Status, failure.Attempts, last.status, c.attempts)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
			if c.is == nil && failure.Code != "" {
				t.Errorf("code %s, and Kairship said nothing", failure.Code)
			}
			if client.Temporary(err) != c.temporary {
				t.Errorf("temporary: %t", client.Temporary(err))
			}
		})
	}
}

func TestErrorsAreTheirOwnKindOnly(t *testing.T) {
	_, err := connect(t, nil, serve(t, refuse(404, gm.UnknownInstance))).Bind(t.Context(), binding)
	if errors.Is(err, client.ErrMalformed) || errors.Is(err, client.ErrReplay) {
		t.Errorf("%v is of several kinds", err)
	}
	failure, _ := errors.AsType[*client.Error](err)
	if failure.Field != "role" || failure.Message != "because" || !strings.Contains(err.Error(), "HTTP 404: UNKNOWN_INSTANCE: because") {
		t.Errorf("got %v", err)
	}
	if client.Temporary(errors.New("another")) || client.Temporary(nil) {
		t.Error("errors of others are not ours to judge")
	}
}

func TestEveryAttemptIsSignedAnewAndIsTheSameEvent(t *testing.T) {
	first := serve(t, refuse(503, gm.Unavailable))
	second := serve(t, refuse(503, gm.Unavailable), stored)
	if _, err := connect(t, nil, first, second).Change(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if first.received() != 2 || second.received() != 2 {
		t.Errorf("%d and %d requests: attempts do not go round the replicas", first.received(), second.received())
	}
	seen := map[string]bool{}
	for _, timestamp := range append(first.timestamps, second.timestamps...) {
		if seen[timestamp] {
			t.Errorf("two attempts are signed for %s: one of them is a replay", timestamp)
		}
		seen[timestamp] = true
	}
	want := gm.Event{EventID: "b-1/3", Type: gm.Changed, Binding: binding}
	for i, body := range append(first.bodies, second.bodies...) {
		var got gm.Event
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestPauses(t *testing.T) {
	t.Run("they grow, with a random part", func(t *testing.T) {
		var pauses []time.Duration
		_, err := connect(t, &pauses, serve(t, refuse(503, gm.Unavailable))).Bind(t.Context(), binding)
		if len(pauses) != 3 {
			t.Fatalf("%d pauses between 4 attempts: %v", len(pauses), err)
		}
		longest := 100 * time.Millisecond
		for i, pause := range pauses {
			if pause < longest/2 || pause > longest {
				t.Errorf("pause %d is %s, want %s to %s", i, pause, longest/2, longest)
			}
			longest *= 2
		}
	})
	t.Run("the answer's wish is a minimum", func(t *testing.T) {
		var pauses []time.Duration
		busy := refuse(503, gm.Unavailable)
		busy.header = map[string]string{"Retry-After": "7"}
		if _, err := connect(t, &pauses, serve(t, busy, stored)).Bind(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{7 * time.Second}, pauses); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
	})
	t.Run("it may be a date", func(t *testing.T) {
		var pauses []time.Duration
		busy := refuse(503, gm.Unavailable)
		busy.header = map[string]string{"Retry-After": time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}
		if _, err := connect(t, &pauses, serve(t, busy, stored)).Bind(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		if len(pauses) != 1 || pauses[0] < 50*time.Second || pauses[0] > time.Minute {
			t.Errorf("pauses %v, want one of about a minute", pauses)
		}
	})
	t.Run("one that lasts beyond the context's time is not begun", func(t *testing.T) {
		busy := refuse(503, gm.Unavailable)
		busy.header = map[string]string{"Retry-After": "3600"}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		k := serve(t, busy)
		if _, err := connect(t, nil, k).Bind(ctx, binding); !errors.Is(err, client.ErrUnavailable) || k.received() != 1 {
			t.Errorf("got %v after %d requests", err, k.received())
		}
	})
	t.Run("the context's end is the end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		k := serve(t, stored)
		_, err := connect(t, nil, k).Bind(ctx, binding)
		if !errors.Is(err, context.Canceled) || k.received() != 0 {
			t.Errorf("got %v after %d requests", err, k.received())
		}
	})
}

func TestNothingWrongIsSent(t *testing.T) {
	k := serve(t, stored)
	c := connect(t, nil, k)
	empty := binding
	empty.Namespaces = []string{}
	_, err := c.Bind(t.Context(), empty)
	failure, _ := errors.AsType[*client.Error](err)
	if !errors.Is(err, client.ErrMalformed) || failure.Field != "namespaces" {
		t.Errorf("got %v", err)
	}
	if _, err := c.Resync(t.Context(), gm.Resync{AsOf: 1}); !errors.Is(err, client.ErrMalformed) {
		t.Errorf("got %v", err)
	}
	wide := binding
	wide.Subject.Name = strings.Repeat("\U0001F600", gm.MaxNameLength)
	if _, err := c.Send(t.Context(), gm.Event{EventID: "e", Type: gm.Bound, Binding: wide}); err != nil {
		t.Errorf("the longest name is refused: %v", err)
	}
	if k.received() != 1 {
		t.Errorf("%d requests", k.received())
	}
}

func TestResync(t *testing.T) {
	all := gm.Resync{AsOf: 1767225600000, Bindings: []gm.Binding{binding}}
	report := `{"counts":{"failed":1,"stored":1},"bindings":[{"bindingID":"b-1","result":"stored","sequence":3},{"bindingID":"b-2","result":"failed","sequence":1,"code":"UNAVAILABLE"}]}`
	t.Run("what could not be stored is sent again, and reported in the end", func(t *testing.T) {
		k := serve(t, answer{status: 503, body: report})
		got, err := connect(t, nil, k).Resync(t.Context(), all)
		if !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "1 of 2 bindings") || k.received() != 4 {
			t.Errorf("got %v after %d requests", err, k.received())
		}
		if len(got.Bindings) != 2 {
			t.Errorf("the report is lost: %+v", got)
		}
	})
	t.Run("a report is read", func(t *testing.T) {
		k := serve(t, answer{status: 200, body: `{"counts":{"stored":1},"bindings":[{"bindingID":"b-1","result":"stored","sequence":3}]}`})
		got, err := connect(t, nil, k).Resync(t.Context(), all)
		want := gm.ResyncReport{Counts: map[gm.Result]int{gm.Stored: 1}, Bindings: []gm.BindingReport{{BindingID: "b-1", Result: gm.Stored, Sequence: 3}}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("error %v, report (-want +got):\n%s", err, diff)
		}
		if k.paths[0] != "POST "+gm.ResyncPath {
			t.Errorf("sent to %s", k.paths[0])
		}
	})
}

func TestTheSecretIsAskedForAtEveryAttempt(t *testing.T) {
	k := serve(t, refuse(503, gm.Unavailable), stored)
	asked := 0
	c, err := client.New(client.Options{
		URLs: []string{k.URL}, HTTP: k.Client(), Sleep: func(context.Context, time.Duration) error { return nil },
		Secret: func(context.Context) ([]byte, error) {
			asked++
			if asked == 1 {
				return nil, errors.New("the vault is sealed")
			}
			return []byte(secret), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Unbind(t.Context(), binding); err != nil || asked != 3 {
		t.Errorf("got %v after asking %d times, want success after three", err, asked)
	}
}

func TestNew(t *testing.T) {
	give := func(text string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(text), nil }
	}
	for reason, o := range map[string]client.Options{
		"no URL":             {Secret: give(secret)},
		"no secret":          {URLs: []string{"https://localhost:1"}},
		"plain HTTP":         {Secret: give(secret), URLs: []string{"http://localhost:1"}},
		"a path":             {Secret: give(secret), URLs: []string{"https://localhost:1/webhook"}},
		"credentials":        {Secret: give(secret), URLs: []string{"https://a:b@localhost:1"}},
		"no host":            {Secret: give(secret), URLs: []string{"https://"}},
		"the second is none": {Secret: give(secret), URLs: []string{"https://localhost:1", "localhost:2"}},
	} {
		if _, err := client.New(o); err == nil {
			t.Errorf("%s is accepted", reason)
		}
	}
	k := serve(t, stored)
	c, err := client.New(client.Options{URLs: []string{k.URL}, HTTP: k.Client(), Secret: give("short")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bind(t.Context(), binding); !errors.Is(err, client.ErrWrongSignature) || k.received() != 0 {
		t.Errorf("a short secret: %v after %d requests", err, k.received())
	}
}

func TestEventID(t *testing.T) {
	long := binding
	long.BindingID = strings.Repeat("é", gm.MaxIDLength)
	next := long
	next.Sequence++
	if got := client.EventID(binding); got != "b-1/3" {
		t.Errorf("got %s", got)
	}
	if a, b := client.EventID(long), client.EventID(next); len(a) != 64 || a == b {
		t.Errorf("got %s and %s", a, b)
	}
}
