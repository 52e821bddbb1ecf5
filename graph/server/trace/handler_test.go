package trace_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// TestHandlerKnowsPeer logs the address of the peer, whatever address its client claims.
func TestHandlerKnowsPeer(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(trace.LogHandler(slog.NewTextHandler(&out, nil)))
	handler := trace.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		logger.InfoContext(r.Context(), "inside")
	}), "/things", func(*http.Request) bool { return false }, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/things", http.NoBody)
	r.RemoteAddr = "192.0.2.7:51334"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	r.Header.Set("Forwarded", "for=198.51.100.1")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	if line := out.String(); !strings.Contains(line, "from=192.0.2.7:51334 ") || strings.Contains(line, "198.51.100.1") {
		t.Errorf("want the address of the peer: %s", line)
	}
}

// TestHandlerEndsSpan ends the span of a request that lasts when its answer begins.
func TestHandlerEndsSpan(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	t.Cleanup(func() { tracing.Use(nil) })
	for _, lasts := range []bool{true, false} {
		memory.Reset()
		ended := false
		handler := trace.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			ended = len(memory.GetSpans()) == 1
		}), "/things/{thing}", func(*http.Request) bool { return lasts }, nil)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/things/hunter2?x=hunter2", http.NoBody))
		spans := memory.GetSpans()
		if ended != lasts || len(spans) != 1 || spans[0].Name != "GET /things/{thing}" || w.Header().Get(trace.Header) != spans[0].SpanContext.TraceID().String() {
			t.Errorf("lasts %t: ended when the answer began: %t, %+v", lasts, ended, spans)
		}
	}
}
