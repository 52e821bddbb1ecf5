package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/quota"
)

// TestSharedAnswers asks twice and counts executions.
func TestSharedAnswers(t *testing.T) {
	type request struct {
		person string
		body   map[string]any
		header http.Header
	}
	hello := func(person string) request { return request{person: person, body: map[string]any{"query": "{hello}"}} }
	with := func(r request, name string, value any) request {
		r.body = map[string]any{"query": r.body["query"], name: value}
		return r
	}
	header := func(r request, name, value string) request {
		r.header = http.Header{name: {value}}
		return r
	}
	const items = "query Q($f: Filter) { hello items(first: 1, filter: $f) { name } }"
	filtered := func(variables string) request {
		return request{person: "alice", body: map[string]any{"query": items, "variables": decode(t, variables)}}
	}
	named := func(name string) request {
		return request{person: "alice", body: map[string]any{"query": "query A { hello } query B { hello }", "operationName": name}}
	}
	persisted := func(document string) request {
		return request{person: "alice", body: map[string]any{"query": document, "extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": sha(document)}}}}
	}
	for _, tt := range []struct {
		why           string
		first, second request
		later         time.Duration
		want          int
	}{
		{"the same person", hello("alice"), hello("alice"), 0, 1},
		{"another person with equal grants", hello("alice"), hello("anna"), 0, 1},
		{"other grants", hello("alice"), hello("bob"), 0, 2},
		{"more grants", hello("alice"), hello("both"), 0, 2},
		{"no grants", hello("alice"), hello("mallory"), 0, 2},
		{"just within a second", hello("alice"), hello("alice"), 999 * time.Millisecond, 1},
		{"after a second", hello("alice"), hello("alice"), time.Second, 2},
		{"another document", hello("alice"), request{person: "alice", body: map[string]any{"query": "{ hello }"}}, 0, 2},
		{"variables in another order", filtered(`{"f":{"limit":1,"exact":true}}`), filtered(`{"f":{"exact":true,"limit":1}}`), 0, 1},
		{"another value", filtered(`{"f":{"limit":1,"exact":true}}`), filtered(`{"f":{"limit":2,"exact":true}}`), 0, 2},
		{"null, and not given", filtered(`{"f":null}`), filtered(`{}`), 0, 2},
		{"one value, and a list of it", filtered(`{"f":{"colors":"RED"}}`), filtered(`{"f":{"colors":["RED"]}}`), 0, 1},
		{"the same operation of two", named("A"), named("A"), 0, 1},
		{"the other operation of two", named("A"), named("B"), 0, 2},
		{"a document by its hash", persisted("{hello}"), persisted("{hello}"), 0, 1},
		{"a document by its hash, and written out", persisted("{hello}"), hello("alice"), 0, 1},
		{"a plan is about the request", hello("alice"), header(hello("alice"), plan.Header, "1"), 0, 2},
		{"a plan, by an extension", hello("alice"), with(hello("alice"), "extensions", map[string]any{"queryPlan": true}), 0, 2},
		{"a consistency token", hello("alice"), header(hello("alice"), "Kairship-Consistency-Token", "x"), 0, 2},
		{"a consistency token, by an extension", hello("alice"), with(hello("alice"), "extensions", map[string]any{"consistencyToken": "x"}), 0, 2},
		{"an unknown extension", hello("alice"), with(hello("alice"), "extensions", map[string]any{"x": 1}), 0, 2},
		{"the client's name", hello("alice"), with(hello("alice"), "extensions", map[string]any{"clientLibrary": map[string]any{"name": "@apollo/client"}}), 0, 1},
		{"no-cache", hello("alice"), header(hello("alice"), "Cache-Control", "max-age=3, No-Cache"), 0, 2},
		{"max-age=0", hello("alice"), header(hello("alice"), "Cache-Control", "max-age=0"), 0, 2},
		{"no-cache, by an extension", hello("alice"), with(hello("alice"), "extensions", map[string]any{"noCache": true}), 0, 2},
		{"no-cache that is false", hello("alice"), with(hello("alice"), "extensions", map[string]any{"noCache": false}), 0, 1},
		{"another header", hello("alice"), header(hello("alice"), "Cache-Control", "max-stale"), 0, 1},
	} {
		t.Run(tt.why, func(t *testing.T) {
			s := startSharing(t, nil)
			for _, r := range []request{tt.first, tt.second} {
				got := s.do(t, call{token: r.person, header: r.header, body: marshal(t, r.body)})
				if got.status != http.StatusOK || !strings.Contains(got.body, `"hello":"hello `) {
					t.Fatalf("got %d %s", got.status, got.body)
				}
				s.clock.advance(tt.later)
			}
			if got := s.executed.get("hello"); got != tt.want {
				t.Errorf("executed %d times, want %d", got, tt.want)
			}
		})
	}
}

// TestNotListedIsNotShared: what was not allowed is executed for each request.
func TestNotListedIsNotShared(t *testing.T) {
	s := startSharing(t, nil)
	for _, person := range []string{"alice", "anna"} {
		if got, want := s.ask(t, person, "{hello viewer{username}}", nil), `"username":"`+person+`"`; !strings.Contains(got, want) {
			t.Errorf("%s is answered %s", person, got)
		}
	}
	s.ask(t, "alice", "{hello __schema{queryType{name}}}", nil)
	s.ask(t, "alice", "{hello __schema{queryType{name}}}", nil)
	if got := s.executed.get("hello"); got != 4 {
		t.Errorf("executed %d times, want 4", got)
	}
}

// TestNoCacheRenews: an answer that was asked for anew takes the place of the older one.
func TestNoCacheRenews(t *testing.T) {
	s := startSharing(t, nil)
	s.ask(t, "alice", "{hello}", nil)
	anew := s.ask(t, "alice", "{hello}", http.Header{"Cache-Control": {"no-cache"}})
	if got := s.ask(t, "anna", "{hello}", nil); got != anew {
		t.Errorf("got %s, which is older than %s", got, anew)
	}
}

// TestMutationsForget: a query after a mutation sees what it did.
func TestMutationsForget(t *testing.T) {
	for _, mutation := range []string{"mutation{touch}", `mutation{change(name:"boom"){token}}`} {
		s := startSharing(t, nil)
		s.ask(t, "alice", "{hello}", nil)
		s.ask(t, "anna", mutation, nil)
		s.ask(t, "alice", "{hello}", nil)
		if got := s.executed.get("hello"); got != 2 {
			t.Errorf("%s: executed %d times, want 2", mutation, got)
		}
	}
}

// TestErrorsAreNotShared: an error has the trace id of its own request.
func TestErrorsAreNotShared(t *testing.T) {
	s := startSharing(t, nil)
	for range 2 {
		if got := s.ask(t, "alice", `{hello fail(name:"boom")}`, nil); !strings.Contains(got, "NOT_FOUND") {
			t.Fatalf("got %s", got)
		}
	}
	if got := s.executed.get("fail"); got != 2 {
		t.Errorf("executed %d times, want 2", got)
	}
}

// TestSharedAnswersAreAccounted: each request has its own trace id, line in the audit log
// and charge, as if it had been executed.
func TestSharedAnswersAreAccounted(t *testing.T) {
	traces := []string{fmt.Sprintf("%032d", 1), fmt.Sprintf("%032d", 2)}
	next := 0
	s := startSharing(t, func(_ *counting, c *server.Config) {
		c.NewTraceID = func() string { next++; return fmt.Sprintf("%032d", next) }
		c.Quotas = quota.New(quota.Limits{OperationsPerSecond: 1, OperationsBurst: 2}, c.Now)
		c.InstanceExists = func(context.Context, string) bool { return true }
	})
	var got []string
	for range 2 {
		r := s.do(t, call{token: "alice", body: `{"query":"query Mine{scope hello}"}`})
		got = append(got, r.header.Get(trace.Header), r.header.Get("Cache-Control"), r.body)
	}
	body := `{"data":{"scope":"alpha","hello":"hello 1"}}`
	if d := cmp.Diff([]string{traces[0], "no-store", body, traces[1], "no-store", body}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	lines := s.log.lines(t)
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), s.log)
	}
	for i, line := range lines {
		if line["traceId"] != traces[i] {
			t.Errorf("line %d: %v", i, line)
		}
		for _, own := range []string{"traceId", "durationMs", "spanId"} {
			delete(line, own)
		}
	}
	if d := cmp.Diff(lines[0], lines[1]); d != "" || lines[0]["instanceCount"] != 1.0 {
		t.Errorf("lines differ (-executed +shared):\n%s", d)
	}
	if r := s.do(t, call{token: "alice", body: `{"query":"query Mine{scope hello}"}`}); r.status != http.StatusTooManyRequests {
		t.Errorf("the third of two operations: %d %s", r.status, r.body)
	}
}

// TestSharedBytesAreBounded checks that the oldest answers are evicted when there are too many.
func TestSharedBytesAreBounded(t *testing.T) {
	s := startSharing(t, func(_ *counting, c *server.Config) { c.Shared.Bytes = 12 << 10 })
	ask := func(name string, n int) int {
		before := s.executed.get("hello")
		r := s.do(t, call{token: "alice", body: marshal(t, map[string]any{"query": "query Q($n: String, $i: Int) { hello(name: $n) items(first: $i) { name } }", "variables": map[string]any{"n": name, "i": n}})})
		if r.status != http.StatusOK {
			t.Fatal(r.body)
		}
		return s.executed.get("hello") - before
	}
	for _, step := range []struct {
		name string
		n    int
		want int
		why  string
	}{
		{"a", 1, 1, "the first request"},
		{"b", 1, 1, "the first request"},
		{"a", 1, 0, "there is room for both"},
		{"large", 500, 1, "the first request"},
		{"large", 500, 1, "it is larger than all that may be kept"},
		{"b", 1, 0, "what is too large moves nothing out"},
		{"c", 1, 1, "the first request"}, {"d", 1, 1, "no request asked before"}, {"e", 1, 1, "no request asked before"}, {"f", 1, 1, "no request asked before"},
		{"a", 1, 1, "it is the oldest of six, and had to leave"},
		{"f", 1, 0, "it is one of the last"},
	} {
		if got := ask(step.name, step.n); got != step.want {
			t.Fatalf("%s: executed %d times, want %d: %s", step.name, got, step.want, step.why)
		}
	}
}

// TestSharedAnswersAreCompressed: clients get the encoding that they accept, of the same answer.
func TestSharedAnswersAreCompressed(t *testing.T) {
	s := startSharing(t, nil)
	for range 2 {
		for accepted, want := range map[string]string{"gzip": "gzip", "zstd": "zstd", "identity": "", "gzip;q=0.5, zstd": "zstd", "br": ""} {
			r := s.do(t, call{token: "alice", header: http.Header{"Accept-Encoding": {accepted}}, body: `{"query":"{hello items(first:100){name}}"}`})
			if got := r.header.Get("Content-Encoding"); got != want || !strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("%q: encoded as %q, want %q; Vary %q", accepted, got, want, r.header.Values("Vary"))
			}
			body := decoded(t, r.header.Get("Content-Encoding"), r.body)
			if !strings.HasPrefix(body, `{"data":{"hello":"hello 1","items":[{"name":"item-0"}`) || !strings.HasSuffix(body, `{"name":"item-99"}]}}`) {
				t.Errorf("%q: %.200s", accepted, body)
			}
		}
	}
	if got := s.executed.get("hello"); got != 1 {
		t.Errorf("executed %d times, want 1", got)
	}
}

// TestSharedOverWebSocket: its operations share answers with requests, whatever the
// browser's handshake says about caches.
func TestSharedOverWebSocket(t *testing.T) {
	s := startSharing(t, nil)
	s.ask(t, "alice", "{hello}", nil)
	c := s.dial(t, http.Header{"Cache-Control": {"no-cache"}})
	c.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer anna"}}`)
	c.want(t, `{"type":"connection_ack"}`)
	c.send(t, `{"id":"1","type":"subscribe","payload":{"query":"{hello}"}}`)
	c.want(t, `{"type":"next","id":"1","payload":{"data":{"hello":"hello 1"}}}`)
	c.want(t, `{"type":"complete","id":"1"}`)
	c.send(t, `{"id":"2","type":"subscribe","payload":{"query":"{hello}","extensions":{"noCache":true}}}`)
	c.want(t, `{"type":"next","id":"2","payload":{"data":{"hello":"hello 2"}}}`)
	c.want(t, `{"type":"complete","id":"2"}`)
}

// TestSharedAnswersAreCharged: an answer that is shared costs what its bytes cost, and not
// what it might have cost.
func TestSharedAnswersAreCharged(t *testing.T) {
	s := startSharing(t, func(_ *counting, c *server.Config) {
		c.Quotas = quota.New(quota.Limits{CostPerSecond: 1, CostBurst: 2_000}, c.Now)
	})
	// Up to 1000 is reserved for 500 items, and some 570 are charged for their bytes.
	for _, tt := range []struct {
		items, status int
		why           string
	}{
		{500, http.StatusOK, "2000 are left"},
		{500, http.StatusOK, "it is shared, and 1430 are left"},
		{350, http.StatusOK, "860 are left, which is enough for 700"},
		{500, http.StatusTooManyRequests, "too little is left for what is shared too"},
	} {
		r := s.do(t, call{token: "alice", accept: graphQLJSON, body: fmt.Sprintf(`{"query":"{items(first:%d){name}}"}`, tt.items)})
		if r.status != tt.status {
			t.Errorf("%d items: %d, want %d: %s", tt.items, r.status, tt.status, tt.why)
		}
	}
}

// heldWhile is a ResponseWriter that notes how much memory operations hold while it is
// written to.
type heldWhile struct {
	*httptest.ResponseRecorder

	users *quota.Users
	held  int64
}

// Write implements io.Writer.
func (h *heldWhile) Write(p []byte) (int, error) {
	h.held = h.users.Held()
	return h.ResponseRecorder.Write(p)
}

// TestSharedAnswersHoldMemory: an answer is counted for each request until it is sent,
// because a client that reads slowly keeps it.
func TestSharedAnswersHoldMemory(t *testing.T) {
	var users *quota.Users
	s := startSharing(t, func(_ *counting, c *server.Config) {
		users = quota.New(quota.Limits{}, c.Now)
		c.Quotas = users
	})
	body := operation(t, "{items(first:500){"+strings.ReplaceAll(aliases(200), "hello", "name")+"}}", nil)
	for range 2 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		w := &heldWhile{ResponseRecorder: httptest.NewRecorder(), users: users}
		s.handler.ServeHTTP(w, r)
		if n := int64(w.Body.Len()); n < 1<<20 || w.held < n {
			t.Errorf("%d bytes are sent (%d), and %d held", n, w.Code, w.held)
		}
	}
}
