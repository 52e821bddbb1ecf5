package observe

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kairship-io/kairship/internal/poll"
)

// collector takes spans by OTLP over HTTP, as a real one does.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []span
	// raw is everything that was sent, for what must not be in it.
	raw []byte
}

// span is what a test looks at of one.
type span struct {
	trace, id, parent, name, service string
	kind                             tracepb.Span_SpanKind
	attributes                       map[string]any
	links                            []string
	failed                           bool
}

func newCollector(t testing.TB) *collector {
	t.Helper()
	// Both programs inherit it: a test waits for every batch.
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collectorpb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body...)
	for _, resource := range sent.GetResourceSpans() {
		service, _ := attributesOf(resource.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				one := span{
					trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId()),
					name: s.GetName(), kind: s.GetKind(), service: service, attributes: attributesOf(s.GetAttributes()),
					failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
				}
				for _, l := range s.GetLinks() {
					one.links = append(one.links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, one)
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func attributesOf(list []*commonpb.KeyValue) map[string]any {
	all := map[string]any{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[kv.GetKey()] = v.IntValue
		}
	}
	return all
}

// of are the spans that fit, of those that have come by now.
func (c *collector) of(fits func(span) bool) []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []span
	for _, s := range c.spans {
		if fits(s) {
			found = append(found, s)
		}
	}
	return found
}

// everything is what was sent.
func (c *collector) everything() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw)
}

// trace waits for a trace with a root of a name, whose end is sent last.
func (c *collector) trace(t *testing.T, id, root string) tree {
	t.Helper()
	var all []span
	err := poll.Try(t.Context(), 20*time.Second, func(context.Context) error {
		all = c.of(func(s span) bool { return s.trace == id })
		if !slices.ContainsFunc(all, func(s span) bool { return s.name == root }) {
			return fmt.Errorf("trace %s has %d spans, and no %q among them", id, len(all), root)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree(all)
}

// tree is the spans of a trace.
type tree []span

func (t tree) named(name string) []span {
	var found []span
	for _, s := range t {
		if s.name == name {
			found = append(found, s)
		}
	}
	return found
}

// one is the only span of a name.
func (t tree) one(tb testing.TB, name string) span {
	tb.Helper()
	found := t.named(name)
	if len(found) != 1 {
		tb.Fatalf("%d spans are called %q, want one:\n%v", len(found), name, t)
	}
	return found[0]
}

// to are the client spans of requests to an upstream.
func (t tree) to(upstream string) []span {
	var found []span
	for _, s := range t {
		if s.kind == tracepb.Span_SPAN_KIND_CLIENT && s.attributes["kairship.upstream"] == upstream {
			found = append(found, s)
		}
	}
	return found
}

// below reports whether a span is somewhere below another one.
func (t tree) below(s, ancestor span) bool {
	for range t {
		if s.parent == ancestor.id {
			return true
		}
		i := slices.IndexFunc(t, func(other span) bool { return other.id == s.parent })
		if i < 0 {
			return false
		}
		s = t[i]
	}
	return false
}
