package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/authz"
)

func TestNewNeedsWhatItCannotInvent(t *testing.T) {
	if _, err := server.New(server.Config{Authenticator: fakeAuth{}, Authorizer: fakeAuth{}}); err == nil {
		t.Error("a server without a schema was made")
	}
}

func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		graphiQL bool
		path     string
		status   int
		contains string
		why      string
	}{
		{true, "/", 302, "/graphiql", "a person who opens the address sees something"},
		{true, "/graphiql", 200, "<title>Kairship GraphiQL</title>", "the page needs no token"},
		{true, "/graphiql/", 200, "<title>Kairship GraphiQL</title>", "with or without the slash"},
		{true, "/graphiql/nope.js", 404, "", "no such file"},
		{true, "/nope", 404, "", "no such page"},
		{false, "/", 404, "", "switched off"},
		{false, "/graphiql", 404, "", "switched off"},
		{false, "/healthz", 200, "ok", "probes bring no token"},
		{false, "/readyz", 200, `"status":"ok"`, "probes bring no token"},
	} {
		t.Run(fmt.Sprintf("%s with GraphiQL %v", tt.path, tt.graphiQL), func(t *testing.T) {
			s := start(t, nil, func(c *server.Config) { c.GraphiQL = tt.graphiQL })
			r := s.do(t, call{method: http.MethodGet, path: tt.path, token: "none"})
			if r.status != tt.status || !strings.Contains(r.body+r.header.Get("Location"), tt.contains) {
				t.Errorf("got %d %s, want %d with %q: %s", r.status, r.body, tt.status, tt.contains, tt.why)
			}
		})
	}
}

func TestResolversSeeUserAndScope(t *testing.T) {
	scopes := 0
	s := start(t, nil, func(c *server.Config) {
		c.RequestScope = func(ctx context.Context) context.Context {
			scopes++
			u, _ := authz.UserFrom(ctx)
			return context.WithValue(ctx, scopeKey{}, fmt.Sprintf("scope %d of %s", scopes, u.Name))
		}
	})
	for i := range 2 {
		_, body := s.query(t, `{viewer{username} scope}`, nil)
		want := map[string]any{"viewer": map[string]any{"username": "admin"}, "scope": fmt.Sprintf("scope %d of admin", i+1)}
		if d := cmp.Diff(want, body["data"]); d != "" {
			t.Errorf("each operation has the user and a scope of its own (-want +got):\n%s", d)
		}
	}
	s.query(t, `{nope}`, nil)
	if scopes != 2 {
		t.Errorf("%d scopes were made, want none for an operation that is not executed", scopes)
	}
}

func TestResponseExtensions(t *testing.T) {
	s := start(t, nil, func(c *server.Config) {
		c.ResponseExtensions = func(ctx context.Context) map[string]any {
			u, _ := authz.UserFrom(ctx)
			return map[string]any{"for": u.Name}
		}
	})
	_, body := s.query(t, `{hello}`, nil)
	if d := cmp.Diff(map[string]any{"for": "admin"}, body["extensions"]); d != "" {
		t.Errorf("extensions (-want +got):\n%s", d)
	}
}

func TestLimits(t *testing.T) {
	nested := func(depth int) string {
		return "{items{" + strings.Repeat("child{", depth-2) + "name" + strings.Repeat("}", depth-2) + "}}"
	}
	// Each fragment spreads the next one twice: 2^n fields in a document of n lines.
	doubling := func(n int) string {
		var b strings.Builder
		b.WriteString("{...F0}")
		for i := range n {
			fmt.Fprintf(&b, " fragment F%d on Query{a%d:hello ...F%d ...F%d}", i, i, i+1, i+1)
		}
		fmt.Fprintf(&b, " fragment F%d on Query{hello}", n)
		return b.String()
	}
	s := start(t, nil, func(c *server.Config) { c.MaxDepth = 5; c.MaxFields = 100; c.MaxRootFields = 100; c.TokenLimit = 1000 })
	for _, tt := range []struct {
		name     string
		document string
		message  string // "" for an operation that is executed
		why      string
	}{
		{"deepest", nested(5), "", "at the limit"},
		{"too deep", nested(6), "nests fields 6 deep, and 5 is the limit", "past it"},
		{"too deep through a fragment", `{items{child{...F}}} fragment F on Item{child{child{child{name}}}}`, "nests fields 6 deep", "fragments count as if written out"},
		{"too deep in an inline fragment", `{... on Query{items{child{child{child{child{name}}}}}}}`, "nests fields 6 deep", "inline fragments add none themselves"},
		{"widest", "{" + aliases(100) + "}", "", "at the limit"},
		{"too wide", "{" + aliases(101) + "}", "selects more than 100 fields", "aliases count each"},
		{"doubling", doubling(5), "", "63 fields"},
		{"doubling more", doubling(60), "selects more than 100 fields", "2^60 fields are refused without counting them one by one"},
		{"too long", "{" + strings.Repeat("hello ", 1000) + "}", "exceeded token limit of 1000", "refused while it is read"},
		{"another operation is larger", "query A{hello} query B" + nested(6), "", "only the one that runs counts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			variables := map[string]any{"query": tt.document, "operationName": nil}
			if strings.HasPrefix(tt.document, "query A") {
				variables["operationName"] = "A"
			}
			r := s.do(t, call{accept: graphQLJSON, body: marshal(t, variables)})
			body := decode(t, r.body)
			if tt.message == "" {
				if r.status != http.StatusOK || body["errors"] != nil {
					t.Errorf("refused: %s: %s", r.body, tt.why)
				}
				return
			}
			if r.status != http.StatusBadRequest || codeOf(body) != "QUERY_TOO_COMPLEX" || !strings.Contains(r.body, tt.message) {
				t.Errorf("got %d %s, want %q: %s", r.status, r.body, tt.message, tt.why)
			}
		})
	}
}

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d:hello ", i)
	}
	return b.String()
}

func TestManyMistakesGiveTen(t *testing.T) {
	s := start(t, nil, nil)
	_, body := s.query(t, "{"+strings.ReplaceAll(aliases(50), "hello", "nope")+"}", nil)
	if n := len(body["errors"].([]any)); n != 10 {
		t.Errorf("got %d errors, want the bound of 10", n)
	}
}

func TestIntrospection(t *testing.T) {
	const schema = `{__schema{queryType{name}}}`
	mistakes := []string{`{helo}`, `{items{nme}}`, `{items(firs:1){name}}`, `{items(color:REDD){name}}`, `{items(filter:{colour:RED}){name}}`, `{items}`, `query($x:Colour){hello}`}
	for _, on := range []bool{true, false} {
		s := start(t, nil, func(c *server.Config) { c.Introspection = on })
		r, body := s.query(t, schema, nil)
		if on != (body["errors"] == nil) {
			t.Errorf("introspection %v: %s", on, r.body)
		}
		if !on && (r.status != http.StatusBadRequest || codeOf(body) != "INVALID") {
			t.Errorf("got %d %s, want a refusal before execution", r.status, r.body)
		}
		if r, body := s.query(t, `{__typename hello}`, nil); body["errors"] != nil {
			t.Errorf("__typename needs no introspection: %s", r.body)
		}
		for _, mistake := range mistakes {
			r, _ := s.query(t, mistake, nil)
			if !on && strings.Contains(r.body, "Did you mean") {
				t.Errorf("%s: names are suggested though introspection is off: %s", mistake, r.body)
			}
		}
	}
}

func TestLargeNumbersStayExact(t *testing.T) {
	s := start(t, nil, nil)
	r := s.do(t, call{accept: graphQLJSON, body: `{"query":"query($n:ID!){same(id:$n)}","variables":{"n":9007199254740993}}`})
	if !strings.Contains(r.body, "9007199254740993") {
		t.Errorf("a number of the request was rounded: %s", r.body)
	}
}
