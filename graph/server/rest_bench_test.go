package server_test

import (
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

// BenchmarkREST asks the same small operation by GraphQL, REST, Connect and gRPC. Their ratio is the most that these add:
// what the operation itself takes is the same.
func BenchmarkREST(b *testing.B) {
	schema := testschema.NewExecutableSchema(testschema.Config{Resolvers: resolvers{}})
	operations, service := definition(b)
	handler, err := server.New(server.Config{
		Schema: schema, Authenticator: fakeAuth{}, Authorizer: fakeAuth{}, Logger: slog.New(slog.DiscardHandler),
		Operations: operations, RPC: service,
		Quotas: quota.New(quota.Limits{OperationsPerSecond: math.MaxInt32, OperationsBurst: math.MaxInt32, CostPerSecond: math.MaxInt32, CostBurst: math.MaxInt32}, nil),
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, request := range map[string]func() *http.Request{
		"graphql": func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(`{"documentId": "GetViewer"}`))
			r.Header.Set("Content-Type", "application/json")
			return r
		},
		"rest": func() *http.Request { return httptest.NewRequest(http.MethodGet, "/api/v1/viewer", http.NoBody) },
		"connect": func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "/kairship.v1.Kairship/GetViewer", strings.NewReader("{}"))
			r.Header.Set("Content-Type", "application/json")
			return r
		},
		"grpc": func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "/kairship.v1.Kairship/GetViewer", strings.NewReader("\x00\x00\x00\x00\x00"))
			r.Header.Set("Content-Type", "application/grpc")
			r.ProtoMajor, r.Proto = 2, "HTTP/2.0"
			return r
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, w := request(), httptest.NewRecorder()
				r.Header.Set("Authorization", "Bearer admin")
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatalf("got %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
