package tracing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// recording switches tracing on for a test.
func recording(t *testing.T, sampler sdktrace.Sampler) *tracetest.InMemoryExporter {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory), sdktrace.WithSampler(sampler)))
	t.Cleanup(func() { tracing.Use(nil) })
	return memory
}

const (
	callersTrace, callersSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	traceparent               = "00-" + callersTrace + "-" + callersSpan + "-"
)

// TestOffCostsNothing: what is not traced must not pay for it.
func TestOffCostsNothing(t *testing.T) {
	header := http.Header{"Traceparent": {traceparent + "01"}}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		ctx, span := tracing.Serve(ctx, header, "POST /graphql", nil)
		ctx, inner := tracing.Start(ctx, "query", tracing.Internal)
		inner.Text(tracing.Instance, "alpha")
		inner.Number(tracing.BatchSize, 1)
		inner.Fail("failed")
		inner.Answered(nil, nil)
		tracing.Inject(ctx, header)
		if tracing.TraceID(ctx)+tracing.SpanID(ctx)+span.TraceID() != "" || span.Recording() {
			t.Error("there is a span although tracing is off")
		}
		tracing.At(ctx).End()
		inner.End()
		span.End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTheCallersTraceGoesOn: it is continued, and passed on, sampled or not.
func TestTheCallersTraceGoesOn(t *testing.T) {
	for _, tt := range []struct {
		reason, flags string
		spans         int
	}{
		{"the caller keeps its trace", "01", 2},
		{"the caller does not: nothing is recorded, and that is passed on", "00", 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			memory := recording(t, sdktrace.ParentBased(sdktrace.AlwaysSample()))
			ctx, span := tracing.Serve(t.Context(), http.Header{"Traceparent": {traceparent + tt.flags}, "Tracestate": {"a=b"}, "Baggage": {"secret=hunter2"}}, "serve", func() bool { return true })
			out := http.Header{"Tracestate": {"of=another"}}
			ctx, sent := tracing.Request(ctx, http.MethodGet, tracing.ToIndex, out)
			parts := strings.Split(out.Get("Traceparent"), "-")
			if len(parts) != 4 || parts[1] != callersTrace || parts[2] != tracing.SpanID(ctx) || parts[3] != tt.flags {
				t.Errorf("passed on as %v", out)
			}
			if d := cmp.Diff(http.Header{"Traceparent": {out.Get("Traceparent")}, "Tracestate": {"a=b"}}, out); d != "" {
				t.Errorf("headers (-want +got): %s", d)
			}
			sent.End()
			span.End()
			if got := memory.GetSpans(); len(got) != tt.spans {
				t.Errorf("%d spans, want %d", len(got), tt.spans)
			}
			if span.TraceID() != callersTrace {
				t.Errorf("the trace is %s", span.TraceID())
			}
		})
	}
}

// TestUnauthenticatedRequestsKeepNoTraces checks that only trusted callers decide which traces are kept.
func TestUnauthenticatedRequestsKeepNoTraces(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	for _, tt := range []struct {
		reason, header string
		trusted        func() bool
		keepOurs       bool
		continued      bool
		spans          int
	}{
		{"who may have traces kept", traceparent + "01", yes, false, true, 1},
		{"who may not does not fill the collector", traceparent + "01", no, false, false, 0},
		{"nor where no caller may", traceparent + "01", nil, false, false, 0},
		{"such a trace is kept as often as any other", traceparent + "01", no, true, false, 1},
		{"who does not ask for it is not asked about", traceparent + "00", nil, true, true, 0},
		{"no trace of the caller's", "", nil, true, false, 1},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			ours := sdktrace.NeverSample()
			if tt.keepOurs {
				ours = sdktrace.AlwaysSample()
			}
			memory := recording(t, sdktrace.ParentBased(ours))
			_, span := tracing.Serve(t.Context(), http.Header{"Traceparent": {tt.header}}, "serve", tt.trusted)
			span.End()
			if got := span.TraceID() == callersTrace; got != tt.continued {
				t.Errorf("the caller's trace is continued: %t, want %t", got, tt.continued)
			}
			kept := memory.GetSpans()
			if len(kept) != tt.spans {
				t.Fatalf("%d spans, want %d", len(kept), tt.spans)
			}
			if linked := len(kept) == 1 && len(kept[0].Links) == 1; linked != (len(kept) == 1 && tt.header != "" && !tt.continued) {
				t.Errorf("linked to the caller's trace: %t", linked)
			}
		})
	}
}

// TestOnlyPartsOfTraces: what goes on without a request makes no spans.
func TestOnlyPartsOfTraces(t *testing.T) {
	memory := recording(t, sdktrace.AlwaysSample())
	_, span := tracing.Start(t.Context(), "orphan", tracing.Internal)
	span.End()
	tracing.Late(t.Context(), "late", func(tracing.Span) { t.Error("there is nothing that it is late for") })
	ctx, root := tracing.Root(t.Context(), "root", tracing.Internal)
	root.End()
	root.End()
	_, after := tracing.Start(ctx, "after the end", tracing.Internal)
	after.End()
	tracing.Late(ctx, "late", func(s tracing.Span) { s.Text(tracing.Reason, "COMPLETED") })
	_, again := tracing.Root(ctx, "again", tracing.Internal)
	again.End()
	var names []string
	for _, s := range memory.GetSpans() {
		names = append(names, s.Name)
	}
	if d := cmp.Diff([]string{"root", "late", "again"}, names); d != "" {
		t.Fatalf("spans (-want +got): %s", d)
	}
	spans := memory.GetSpans()
	if late := spans[1]; late.SpanContext.TraceID() != spans[0].SpanContext.TraceID() || late.Links[0].SpanContext.SpanID() != spans[0].SpanContext.SpanID() {
		t.Errorf("what came late: %+v", late)
	}
	if other := spans[2]; other.SpanContext.TraceID() == spans[0].SpanContext.TraceID() || other.Links[0].SpanContext.TraceID() != spans[0].SpanContext.TraceID() {
		t.Errorf("another root: %+v", other)
	}
}

// TestTransport checks that the span of a request has no address, and only the status of its
// answer.
func TestTransport(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, "hunter2")
	}))
	defer server.Close()
	memory := recording(t, sdktrace.AlwaysSample())
	client := &http.Client{Transport: tracing.Transport(tracing.ToGlobal)(http.DefaultTransport)}
	send := func(ctx context.Context, url string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer hunter2")
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		if r.Header.Get("Traceparent") != "" {
			t.Error("the caller's request was changed")
		}
	}
	send(t.Context(), server.URL)
	if len(memory.GetSpans()) != 0 || got.Get("Traceparent") != "" {
		t.Error("a request that belongs to no trace is told")
	}
	ctx, root := tracing.Root(t.Context(), "root", tracing.Internal)
	send(ctx, server.URL+"/hunter2?x=hunter2")
	if !strings.Contains(got.Get("Traceparent"), root.TraceID()) {
		t.Errorf("the trace is not named: %v", got)
	}
	send(ctx, "http://127.0.0.1:1/hunter2")
	root.End()
	client.CloseIdleConnections()
	spans := memory.GetSpans()
	want := [][]attribute.KeyValue{
		{attribute.String(tracing.Method, "GET"), attribute.String(tracing.Upstream, tracing.ToGlobal), attribute.Int(tracing.Status, 409), attribute.String(tracing.ErrorType, "409")},
		{attribute.String(tracing.Method, "GET"), attribute.String(tracing.Upstream, tracing.ToGlobal), attribute.String(tracing.ErrorType, "unreachable")},
	}
	for i, w := range want {
		if d := cmp.Diff(w, spans[i].Attributes, cmp.Comparer(func(a, b attribute.KeyValue) bool { return a == b })); d != "" {
			t.Errorf("request %d (-want +got): %s", i, d)
		}
		if spans[i].Status.Code != codes.Error || len(spans[i].Events) != 0 {
			t.Errorf("request %d: %+v", i, spans[i])
		}
	}
}

func TestErrorsAreRecorded(t *testing.T) {
	memory := recording(t, sdktrace.AlwaysSample())
	for kind, err := range map[string]error{"timeout": context.DeadlineExceeded, "canceled": context.Canceled, "unreachable": errors.New("dial hunter2")} {
		_, span := tracing.Root(t.Context(), kind, tracing.Client)
		span.Answered(nil, err)
		spans := memory.GetSpans()
		if got := spans[len(spans)-1].Status.Description; got != kind {
			t.Errorf("%v is told as %s", err, got)
		}
	}
	if tracing.MethodOf(httptest.NewRequest("HUNTER2", "/", http.NoBody)) != "_OTHER" {
		t.Error("a method may be a caller's own word")
	}
}
