package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// TestSlowOperationLog: what takes long has a line with its shape, and no value.
func TestSlowOperationLog(t *testing.T) {
	const secret = "hunter2"
	for _, tt := range []struct {
		name, body string
		took       time.Duration
		threshold  time.Duration
		want       map[string]any // nil for no line
	}{
		{
			name: "slow", body: `{"query":"query Slow($n: String = \"` + secret + `\") { ` + secret + `: hello(name: $n) items(first: 2) { name } }","variables":{"n":"` + secret + `"}}`, took: 3 * time.Second, threshold: 2 * time.Second,
			want: map[string]any{
				"level": "WARN", "msg": "slow operation", "user": "admin", "operation": "Slow", "type": "query", "outcome": "ok", "durationMs": 3000.0,
				"document": "query($n:String){hello(name) items(first){name}}", "indexRequests": 5.0, "traceId": traceID, "from": loopback,
			},
		},
		{name: "fast", body: `{"query":"{hello}"}`, took: time.Second, threshold: 2 * time.Second},
		{name: "switched off", body: `{"query":"{hello}"}`, took: time.Hour},
		{name: "no operation", body: `{"query":"{nope}"}`, took: 3 * time.Second, threshold: time.Nanosecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			s := start(t, nil, func(c *server.Config) {
				c.Now = func() time.Time { return now }
				c.SlowOperation = tt.threshold
				c.OperationCost = func(ctx context.Context) []slog.Attr {
					if ctx.Value(scopeKey{}) == nil {
						t.Error("the cost is asked of another context")
					}
					return []slog.Attr{slog.Int("indexRequests", 5)}
				}
				c.RequestScope = func(ctx context.Context) context.Context {
					now = now.Add(tt.took)
					return context.WithValue(ctx, scopeKey{}, "operation")
				}
			})
			s.do(t, call{body: tt.body})
			var slow map[string]any
			for _, line := range s.log.lines(t) {
				if line["msg"] == "slow operation" {
					slow = line
				}
			}
			if hash, _ := slow["documentHash"].(string); tt.want != nil && len(hash) != 16 {
				t.Errorf("the hash is %q", hash)
			}
			delete(slow, "documentHash")
			if d := cmp.Diff(tt.want, slow); d != "" {
				t.Errorf("line (-want +got):\n%s", d)
			}
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the log has a value of the caller's:\n%s", s.log)
			}
		})
	}
}

// TestOperationsAreCounted by what became of them, and by no word of the caller's.
func TestOperationsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := start(t, map[string]error{
		"index": apierror.New(apierror.CodeIndexUnavailable, "away"), "missing": apierror.NotFound("thing", "x"),
	}, func(c *server.Config) { c.Registerer, c.OperationNames = registry, []string{"Listed"} })
	for _, body := range []string{
		`{"query":"query Listed {hello}"}`, `{"query":"query Other {hello}"}`, `{"query":"{hello}"}`, `{"query":"mutation {touch}"}`,
		`{"query":"{hello fail(name: \"missing\") again: fail(name: \"index\")}"}`, `{"query":"{failRequired(name: \"index\")}"}`, `{"query":"{nope}"}`, `not JSON`,
	} {
		s.do(t, call{body: body})
	}
	s.do(t, call{body: `{"query":"{hello}"}`, token: "nobody"})
	const want = `
# HELP kairship_graphql_mutations_total Mutations that were executed, by name and outcome.
# TYPE kairship_graphql_mutations_total counter
kairship_graphql_mutations_total{mutation="touch",outcome="ok"} 1
# HELP kairship_graphql_operations_total Operations that are over, by type, name where it is listed, outcome and gravest error code.
# TYPE kairship_graphql_operations_total counter
kairship_graphql_operations_total{code="INDEX_UNAVAILABLE",operation="anonymous",outcome="failed",type="query"} 1
kairship_graphql_operations_total{code="INDEX_UNAVAILABLE",operation="anonymous",outcome="partial",type="query"} 1
kairship_graphql_operations_total{code="INVALID",operation="",outcome="refused",type="none"} 2
kairship_graphql_operations_total{code="UNAUTHENTICATED",operation="",outcome="refused",type="none"} 1
kairship_graphql_operations_total{code="none",operation="Listed",outcome="ok",type="query"} 1
kairship_graphql_operations_total{code="none",operation="anonymous",outcome="ok",type="mutation"} 1
kairship_graphql_operations_total{code="none",operation="anonymous",outcome="ok",type="query"} 1
kairship_graphql_operations_total{code="none",operation="other",outcome="ok",type="mutation"} 0
kairship_graphql_operations_total{code="none",operation="other",outcome="ok",type="query"} 1
`
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range families {
		if name := f.GetName(); name == "kairship_graphql_operations_total" || name == "kairship_graphql_mutations_total" {
			if _, err := expfmt.MetricFamilyToText(&got, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := cmp.Diff(strings.TrimPrefix(want, "\n"), got.String()); d != "" {
		t.Errorf("metrics (-want +got):\n%s", d)
	}
}

// TestSpansOfRequests checks that with tracing, the trace id of a request is that of its spans,
// wherever it is shown.
func TestSpansOfRequests(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	t.Cleanup(func() { tracing.Use(nil) })
	s := start(t, nil, nil)
	r := s.do(t, call{body: `{"query":"query Q {hello nope}"}`})
	spans := memory.GetSpans()
	if len(spans) != 2 || spans[0].Name != "GraphQL Operation" || spans[1].Name != "POST /graphql" || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Fatalf("spans %+v", spans)
	}
	id := spans[0].SpanContext.TraceID().String()
	if r.header.Get(trace.Header) != id || !strings.Contains(r.body, `"traceId":"`+id+`"`) {
		t.Errorf("the trace %s is not that of the header, %s, or of the error, %s", id, r.header.Get(trace.Header), r.body)
	}
	if line := s.log.lines(t)[0]; line["traceId"] != id || line["spanId"] != spans[1].SpanContext.SpanID().String() {
		t.Errorf("the line of the log is about another span: %v", line)
	}
}

// TestUnknownCallersKeepNoTraces sends a traceparent that wants its trace kept to a server that
// keeps none of its own.
func TestUnknownCallersKeepNoTraces(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.NeverSample()))))
	t.Cleanup(func() { tracing.Use(nil) })
	const parent, callers = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"
	s := start(t, nil, nil)
	traced := trace.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "/things", func(*http.Request) bool { return false }, fakeAuth{})
	for token, kept := range map[string]bool{"admin": true, "mallory": true, "wrong": false, "undecided": false, "none": false} {
		memory.Reset()
		r := s.do(t, call{token: token, header: http.Header{"Traceparent": {parent}}, body: `{"query":"{hello}"}`})
		if got := len(memory.GetSpans()) > 0; got != kept {
			t.Errorf("/graphql: the trace of the token %q is kept: %t, want %t", token, got, kept)
		}
		if got := r.header.Get(trace.Header) == callers; got != kept {
			t.Errorf("/graphql: the trace of the token %q is continued: %t, want %t", token, got, kept)
		}
		memory.Reset()
		native := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/things", http.NoBody)
		native.Header.Set("Traceparent", parent)
		if token != "none" {
			native.Header.Set("Authorization", "Bearer "+token)
		}
		traced.ServeHTTP(httptest.NewRecorder(), native)
		if got := len(memory.GetSpans()) > 0; got != kept {
			t.Errorf("beside it: the trace of the token %q is kept: %t, want %t", token, got, kept)
		}
	}
}
