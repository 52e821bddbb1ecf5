package traces

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/kairship-io/kairship/pkg/tracing"
)

// collector takes spans over gRPC.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer

	got chan received
}

type received struct {
	request *collectorpb.ExportTraceServiceRequest
	header  metadata.MD
}

func (c *collector) Export(ctx context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	header, _ := metadata.FromIncomingContext(ctx)
	c.got <- received{r, header}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// TestExportOverGRPC sends a span to a collector that speaks gRPC, with a header that
// OpenTelemetry's variable names.
func TestExportOverGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, c := grpc.NewServer(), &collector{got: make(chan received, 1)}
	collectorpb.RegisterTraceServiceServer(server, c)
	go server.Serve(listener) //nolint:errcheck // It ends with the test.
	defer server.Stop()
	plain(t, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=platform")
	t.Setenv("OTEL_SERVICE_NAME", "kairship-of-the-test")

	stop, err := options(t, "--tracing-endpoint=http://"+listener.Addr().String(), "--tracing-sample-ratio=1").
		Setup(t.Context(), "program", "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Root(t.Context(), "sent", tracing.Internal)
	span.End()
	stop()
	select {
	case r := <-c.got:
		resource := r.request.GetResourceSpans()[0]
		if got := resource.GetScopeSpans()[0].GetSpans()[0].GetName(); got != "sent" {
			t.Errorf("got span %q", got)
		}
		if got := r.header.Get("x-tenant"); len(got) != 1 || got[0] != "platform" {
			t.Errorf("the header is %v", got)
		}
		names := map[string]string{}
		for _, kv := range resource.GetResource().GetAttributes() {
			names[kv.GetKey()] = kv.GetValue().GetStringValue()
		}
		if names["service.name"] != "kairship-of-the-test" || names["service.version"] != "v1" {
			t.Errorf("the process is %v", names)
		}
	case <-time.After(10 * time.Second):
		t.Error("no span arrived")
	}
}

// TestCollectorThatIsAway costs spans, and nothing else.
func TestCollectorThatIsAway(t *testing.T) {
	plain(t, nil)
	stop, err := options(t, "--tracing-endpoint=http://127.0.0.1:1", "--tracing-sample-ratio=1").Setup(t.Context(), "program", "v1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Root(t.Context(), "lost", tracing.Internal)
	span.End()
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > 2*flushTimeout {
		t.Errorf("the end of the process waits %s", took)
	}
}
