package server_test

import (
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/pkg/quota"
)

// FuzzBody sends arbitrary bodies: whatever they are, the answer is a GraphQL
// response that blames the sender, never the server.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		`{"query":"{hello}"}`, `{"query":"{items(first:2,filter:{and:[{colors:[RED]}]}){name child{name}}}"}`,
		`{"query":"query($f:Filter){items(filter:$f){name}}","variables":{"f":{"and":[{"limit":1}]}}}`,
		`{"query":"{...F} fragment F on Query{...F}"}`, `{"query":"{","operationName":null}`, `[]`, `{"query":"mutation{touch}","variables":{}}`,
		`{"query":"{__schema{types{fields{type{fields{type{fields{name}}}}}}}}"}`, "\x00", `{"query":"\u0000{hello @include(if:$x)}"}`,
	} {
		f.Add(seed)
	}
	h, err := server.New(server.Config{
		Schema:        testschema.NewExecutableSchema(testschema.Config{Resolvers: resolvers{}}),
		Authenticator: fakeAuth{}, Authorizer: fakeAuth{}, Introspection: true,
		Quotas: quota.New(quota.Limits{OperationsPerSecond: math.MaxInt32, OperationsBurst: math.MaxInt32, CostPerSecond: math.MaxInt32, CostBurst: math.MaxInt32}, nil),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {plainJSON}, "Accept": {graphQLJSON}, "Authorization": {"Bearer admin"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("body %q: status %d: %s", body, w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("body %q: the answer is no JSON: %s", body, w.Body)
		}
		// The schema has one field that panics, and fields that fail as requested.
		if strings.Contains(w.Body.String(), `"INTERNAL"`) && !strings.Contains(body, "panic") && !strings.Contains(body, "ail") {
			t.Errorf("body %q: %s", body, w.Body)
		}
	})
}
