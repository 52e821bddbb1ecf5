package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/quota"
)

// TestLimitsOfShape goes beside TestLimits: what is neither deep nor wide may be too much too.
func TestLimitsOfShape(t *testing.T) {
	roots := func(n int) string { return "{" + aliases(n) + "}" }
	renamed := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d:name ", i)
		}
		return "{items{" + b.String() + "}}"
	}
	s := start(t, nil, func(c *server.Config) { c.MaxAliases = 30; c.MaxRootFields = 10; c.MaxCost = 2_000 })
	for _, tt := range []struct {
		name, document string
		message        string // "" for an operation that is executed
		why            string
	}{
		{"most root fields", roots(10), "", "at the limit"},
		{"too many root fields", roots(11), "more than 10 fields of query itself", "each may be a list of its own"},
		{"too many root fields in fragments", `{...A ... on Query{` + aliases(6) + `}} fragment A on Query{` + strings.ReplaceAll(aliases(6), "a", "b") + `}`, "more than 10 fields of query itself", "fragments are written out"},
		{"one root field, often", "{" + strings.Repeat("hello ", 50) + "}", "", "fields of one name are one"},
		{"most aliases", renamed(30), "", "at the limit"},
		{"too many aliases", renamed(31), "more than 30 aliases", "an alias asks for the same once more"},
		{"an alias that is the name", "{items{" + strings.Repeat("name:name ", 40) + "}}", "", "it renames nothing"},
		{"a mutation has root fields too", "mutation{" + strings.ReplaceAll(aliases(11), "hello", "touch") + "}", "more than 10 fields of mutation itself", "each changes something"},
		{"a field very often", "{" + strings.Repeat("hello ", 1000) + "}", "fields of the same name too often", "validation compares each pair"},
		{"a field very often, in two levels", "{" + strings.Repeat("items{"+strings.Repeat("name ", 30)+"} ", 30) + "}", "fields of the same name too often", "what is below is merged, and compared with everything"},
		{"another operation has it", "query A{hello} query B{" + strings.Repeat("hello ", 1000) + "}", "fields of the same name too often", "the whole document is validated"},
		{"an unused fragment has it", "query A{hello} fragment F on Query{" + strings.Repeat("hello ", 1000) + "}", "fields of the same name too often", "the whole document is validated"},
		{"a very long name", "{" + strings.Repeat("x", 201) + "}", "a name of 201 bytes", "names that are alike are looked for"},
		{"a fragment that spreads itself", "{...A} fragment A on Query{hello ...B} fragment B on Query{...A}", "", "INVALID, and not too complex: it has no size"},
		{"a list is as dear as its items", `{items(first:500){name child{name} fail(name:"a")}}`, "the operation costs 2500, and 2000 is the limit", "500 × 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := map[string]any{"query": tt.document}
			if strings.HasPrefix(tt.document, "query A") {
				body["operationName"] = "A"
			}
			r := s.do(t, call{accept: graphQLJSON, body: marshal(t, body)})
			switch code := codeOf(decode(t, r.body)); {
			case strings.Contains(tt.why, "INVALID"):
				if code != "INVALID" {
					t.Errorf("got %d %s: %s", r.status, r.body, tt.why)
				}
			case tt.message == "" && r.status != http.StatusOK:
				t.Errorf("refused: %s: %s", r.body, tt.why)
			case tt.message != "" && (r.status != http.StatusBadRequest || code != "QUERY_TOO_COMPLEX" || !strings.Contains(r.body, tt.message)):
				t.Errorf("got %d %s, want %q: %s", r.status, r.body, tt.message, tt.why)
			}
		})
	}
}

func TestRefusalNamesMostExpensiveFields(t *testing.T) {
	s := start(t, nil, func(c *server.Config) {
		c.MaxCost = 1000
		c.Prices = map[string]cost.Price{"Query.items": {Requests: 2}, "Item.child": {Value: 9}}
	})
	_, body := s.query(t, `query($n:Int){all:items(first:$n){name one:child{name}} hello}`, map[string]any{"n": 100})
	err := body["errors"].([]any)[0].(map[string]any)
	want := map[string]any{
		"value": 1401.0, "limit": 1000.0,
		"mostExpensive": []any{"items.child (1000)", "items (400)", "hello (1)"},
		"dearest":       []any{"items.child (1000)", "items (400)", "hello (1)"}, // Deprecated.
	}
	if d := cmp.Diff(want, extensions(err)["cost"]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if message := err["message"].(string); !strings.Contains(message, "costs 1401, and 1000 is the limit") || !strings.Contains(message, "items.child (1000)") {
		t.Errorf("a person is told %q", message)
	}
}

// clock is one that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestQuotaOfOperations(t *testing.T) {
	now := &clock{time.Unix(1000, 0)}
	s := start(t, nil, func(c *server.Config) {
		c.Now = now.now
		c.Quotas = quota.New(quota.Limits{OperationsPerSecond: 2, OperationsBurst: 4}, c.Now)
	})
	ask := func() reply { return s.do(t, call{body: `{"query":"{hello}"}`}) }
	for range 4 {
		if r := ask(); r.status != http.StatusOK {
			t.Fatalf("within the burst: %d %s", r.status, r.body)
		}
	}
	r := ask()
	if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" {
		t.Errorf("got %d, Retry-After %q: %s", r.status, r.header.Get("Retry-After"), r.body)
	}
	body := decode(t, r.body)
	if err := body["errors"].([]any)[0]; codeOf(body) != "RATE_LIMITED" || extensions(err)["retryAfter"] != 1.0 {
		t.Errorf("got %s", r.body)
	}
	now.at = now.at.Add(500 * time.Millisecond)
	if r := ask(); r.status != http.StatusOK {
		t.Errorf("half a second later there is one more: %d %s", r.status, r.body)
	}
	if r := ask(); r.status != http.StatusTooManyRequests {
		t.Errorf("and no second one: %d %s", r.status, r.body)
	}
}

func TestQuotaOfCost(t *testing.T) {
	now := &clock{time.Unix(1000, 0)}
	s := start(t, nil, func(c *server.Config) {
		c.Now = now.now
		c.Quotas = quota.New(quota.Limits{CostPerSecond: 100, CostBurst: 500}, c.Now)
	})
	large := operation(t, `{items(first:500){name}}`, nil) // 9 kB, which is some 560 values.
	if r := s.do(t, call{body: large}); r.status != http.StatusOK {
		t.Fatalf("the first: %d", r.status)
	}
	r := s.do(t, call{body: `{"query":"{hello}"}`})
	if r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "cost more than 100 a second") {
		t.Errorf("got %d %s", r.status, r.body)
	}
	now.at = now.at.Add(time.Second)
	if r := s.do(t, call{body: `{"query":"{hello}"}`}); r.status != http.StatusOK {
		t.Errorf("later: %d %s", r.status, r.body)
	}
}

// What an operation may cost is taken before it is executed.
func TestCostIsReserved(t *testing.T) {
	now := &clock{time.Unix(1000, 0)}
	users := quota.New(quota.Limits{CostPerSecond: 100, CostBurst: 1500}, now.now)
	s := start(t, nil, func(c *server.Config) { c.Now, c.Quotas = now.now, users })
	other, limited := users.Enter("admin")
	if limited != nil {
		t.Fatal(limited)
	}
	if limited := other.Reserve(600); limited != nil {
		t.Fatal(limited)
	}
	large := operation(t, `{items(first:500){name}}`, nil)
	r := s.do(t, call{body: large})
	if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" || !strings.Contains(r.body, "may cost") {
		t.Errorf("beside another operation: %d %s", r.status, r.body)
	}
	other.Charge(10)
	if r := s.do(t, call{body: large}); r.status != http.StatusOK {
		t.Errorf("once that one has cost little: %d %s", r.status, r.body)
	}
}

// An answer that outgrows what an operation may hold is refused as a whole, and what
// it held is given back.
func TestMemoryOfAnswers(t *testing.T) {
	users := quota.New(quota.Limits{OperationMemory: 1 << 20}, nil)
	s := start(t, nil, func(c *server.Config) { c.Quotas = users })
	for _, tt := range []struct {
		query  string
		status int
		why    string
	}{
		{`{items(first:500){name}}`, 200, "a thousand fields"},
		{`{items(first:500){a:name b:name c:name d:name e:name f:name g:name h:name i:name j:name}}`, 400, "the same texts ten times"},
		{`{hello}`, 200, "the next operation begins anew"},
	} {
		r := s.do(t, call{body: operation(t, tt.query, nil)})
		code := ""
		if tt.status != 200 {
			code = "QUERY_TOO_COMPLEX"
		}
		body := decode(t, r.body)
		if r.status != tt.status || codeOf(body) != code {
			t.Errorf("%s: got %d %.300s", tt.why, r.status, r.body)
		}
		if _, has := body["data"]; has == (code != "") {
			t.Errorf("%s: data beside a refusal: %.300s", tt.why, r.body)
		}
	}
	if held := users.Held(); held != 0 {
		t.Errorf("%d bytes are held after the last answer", held)
	}
}

// One user cannot take the memory of all others.
func TestMemoryOfAUser(t *testing.T) {
	users := quota.New(quota.Limits{Memory: 4 << 20, OperationMemory: 4 << 20}, nil)
	s := start(t, nil, func(c *server.Config) { c.Quotas = users })
	other, limited := users.Enter("admin")
	if limited != nil {
		t.Fatal(limited)
	}
	if err := other.Hold(3 << 19); err != nil {
		t.Fatal(err)
	}
	r := s.do(t, call{body: operation(t, `{items(first:500){a:name b:name c:name d:name e:name f:name g:name h:name i:name j:name}}`, nil)})
	if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" || codeOf(decode(t, r.body)) != "RATE_LIMITED" {
		t.Errorf("got %d, Retry-After %q, %.300s", r.status, r.header.Get("Retry-After"), r.body)
	}
}

func TestQuotaOfMistakes(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Quotas = quota.New(quota.Limits{CostPerSecond: 1, CostBurst: 35}, c.Now) })
	for i, body := range []string{`{`, `{"query":"{"}`, `{"query":"{nope}"}`, `[]`} {
		if r := s.do(t, call{body: body}); r.status == http.StatusTooManyRequests {
			t.Fatalf("the %dth is refused: %s", i, r.body)
		}
	}
	if r := s.do(t, call{body: `{"query":"{hello}"}`}); r.status != http.StatusTooManyRequests {
		t.Errorf("requests that are wrong cost nothing: %d %s", r.status, r.body)
	}
}

func request(t *testing.T, s testServer, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/graphql", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {plainJSON}, "Authorization": {"Bearer admin"}}
	return r
}

// Streams are counted among the subscriptions, whose users keep them open.
func TestStreamsAreNotUnderWay(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.Quotas = quota.New(quota.Limits{MaxConcurrent: 1}, c.Now) })
	stream := s.openEvents(t)
	defer stream.Body.Close()
	if r := s.do0(t, `{"query":"{hello}"}`); r != http.StatusOK {
		t.Errorf("a query beside a stream: %d", r)
	}
}

// do0 is do for servers that have streams open, whose handlers do not return.
func (s testServer) do0(t *testing.T, body string) int {
	t.Helper()
	r, err := s.Client().Do(request(t, s, body))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

func (s testServer) openEvents(t *testing.T) *http.Response {
	t.Helper()
	r := request(t, s, `{"query":"subscription{events(topic:\"a\"){n}}"}`)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("no stream: %d", resp.StatusCode)
	}
	return resp
}

func TestInputs(t *testing.T) {
	s := start(t, nil, nil)
	nested := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	many := "[" + strings.Repeat("{},", 30_000) + "{}]"
	post := func(body string) call { return call{body: body, accept: graphQLJSON} }
	for _, tt := range []struct {
		name   string
		call   call
		status int
		code   string
		why    string
	}{
		{"deep variables", post(`{"query":"{hello}","variables":{"a":` + nested + `}}`), 400, "QUERY_TOO_COMPLEX", "reading them costs stack"},
		{"deep extensions", post(`{"query":"{hello}","extensions":{"a":` + nested + `}}`), 400, "QUERY_TOO_COMPLEX", "they are read too"},
		{"deep in a GET", call{method: http.MethodGet, path: "/graphql?query={hello}&variables={%22a%22:" + nested + "}", accept: graphQLJSON}, 400, "QUERY_TOO_COMPLEX", "whichever way it comes"},
		{"many values", post(`{"query":"{hello}","variables":{"a":` + many + `}}`), 400, "QUERY_TOO_COMPLEX", "three bytes of JSON are a hundred of memory"},
		{"text that looks deep", post(`{"query":"{hello}","variables":{"a":"\"` + strings.Repeat("[{,", 200) + `"}}`), 200, "", "it is one value"},
		{"a parameter twice", post(`{"query":"{hello}","query":"mutation{touch}"}`), 400, "INVALID", "a proxy in between may have read the other one"},
		{"no UTF-8", post("{\"query\":\"{hello}\",\"variables\":{\"a\":\"\xff\"}}"), 400, "INVALID", "JSON is UTF-8"},
		{"no UTF-8 in a GET", call{method: http.MethodGet, path: "/graphql?query={hello}&operationName=%ff", accept: graphQLJSON}, 400, "INVALID", "neither is that"},
		{"compressed", call{body: "\x1f\x8b", header: http.Header{"Content-Encoding": {"gzip"}}, accept: graphQLJSON}, 415, "INVALID", "a thousand times as much may be in it"},
		{"not compressed", call{body: `{"query":"{hello}"}`, header: http.Header{"Content-Encoding": {"identity"}}, accept: graphQLJSON}, 200, "", "which says nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := s.do(t, tt.call); r.status != tt.status || codeOf(decode(t, r.body)) != tt.code {
				t.Errorf("got %d %s, want %d %s: %s", r.status, r.body, tt.status, tt.code, tt.why)
			}
		})
	}
}
