package server_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/pkg/quota"
)

// BenchmarkShared compares a request whose answer is shared with one that is executed,
// which reads nothing here: all that it costs is the execution and the encoding.
func BenchmarkShared(b *testing.B) {
	people := newGrants()
	cfg := server.Config{
		Schema:        testschema.NewExecutableSchema(testschema.Config{Resolvers: resolvers{}}),
		Authenticator: people, Authorizer: people,
		Shared: answercache.Options{Fields: testFields, Permissions: people, Bytes: 64 << 20},
		Logger: slog.New(slog.DiscardHandler),
		Quotas: quota.New(quota.Limits{OperationsPerSecond: 1e9, OperationsBurst: 1e9, CostPerSecond: 1e12, CostBurst: 1e12}, time.Now),
	}
	h, err := server.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	body := `{"query":"query Q($n: Int) { items(first: $n) { name child { name child { name a: name b: name c: name } } } }","variables":{"n":400}}`
	for _, encoding := range []string{"", "gzip"} {
		for name, control := range map[string]string{"executed": "no-cache", "shared": ""} {
			b.Run(name+encoding, func(b *testing.B) {
				for b.Loop() {
					r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/graphql", strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer alice")
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Cache-Control", control)
					r.Header.Set("Accept-Encoding", encoding)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != http.StatusOK || w.Body.Len() < 1000 {
						b.Fatalf("%d %s", w.Code, w.Body)
					}
				}
			})
		}
	}
}
