package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// canary is what no span may hold, wherever it was put.
const canary = "hunter2-canary"

// world is a Kairship that traces everything, and what listens to it.
type world struct {
	*fleet.Fleet
	*collector
	*fleet.Process

	index, alpha *wire
}

// traced starts a Kairship of the test's own whose spans go to a collector.
func traced(t *testing.T, flags ...string) *world {
	t.Helper()
	w := &world{Fleet: fleet.Open(t), collector: newCollector(t), index: &wire{}}
	g := w.NewGateway(t)
	w.alpha = instanceWire(t, w.Fleet, g, "alpha")
	g.Answer(fleet.IndexAPI, w.index.listening(g.At(w.Config(t, "global").Host)))
	w.Process = w.Kairship(t, g, append([]string{"--tracing-endpoint=" + w.collector.URL, "--tracing-sample-ratio=1"}, flags...)...)
	t.Cleanup(w.Stop)
	return w
}

// answer is the response to a request, read.
type answer struct {
	status int
	trace  string
	body   string
}

// send sends a request to Kairship.
func (w *world) send(t testing.TB, method, path, token, body string, headers map[string]string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.Address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get("Kairship-Trace-Id"), string(raw)}
}

func (w *world) operation(t testing.TB, person, document string, variables map[string]any, headers map[string]string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	return w.send(t, http.MethodPost, "/graphql", w.Token(t, person), string(body), headers)
}

// nothingSecret looks through everything that the collector got.
func (w *world) nothingSecret(t *testing.T) {
	t.Helper()
	raw := w.everything()
	for _, person := range []string{"admin", "alice"} {
		if bytes.Contains(raw, []byte(w.Token(t, person))) {
			t.Errorf("a span has %s's token", person)
		}
	}
	if i := bytes.Index(raw, []byte(canary)); i >= 0 {
		t.Errorf("a span has a value of the caller's: %q", raw[max(0, i-200):min(len(raw), i+100)])
	}
}

// readme is the query of README.
func readme(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "suite", "testdata", "fleet.graphql"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestQuery follows one query from its caller to the index.
func TestQuery(t *testing.T) {
	w := traced(t)
	const callersTrace, callersSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	got := w.operation(t, "admin", readme(t), nil, map[string]string{
		"Traceparent": "00-" + callersTrace + "-" + callersSpan + "-01", "Kairship-Query-Plan": "1", "X-Header": canary,
	})
	if got.status != http.StatusOK || got.trace != callersTrace {
		t.Fatalf("HTTP %d, trace %s: %s", got.status, got.trace, got.body)
	}
	spans := w.trace(t, callersTrace, "POST /graphql")
	request, query := spans.one(t, "POST /graphql"), spans.one(t, "query")
	root := spans.one(t, "query.instances")
	switch {
	case request.parent != callersSpan || request.kind != tracepb.Span_SPAN_KIND_SERVER || request.attributes["http.response.status_code"] != int64(200):
		t.Errorf("the request's span: %+v", request)
	case query.parent != request.id || query.kind != tracepb.Span_SPAN_KIND_SERVER || query.attributes["graphql.operation.type"] != "query" || query.attributes["graphql.operation.name"] != "Fleet":
		t.Errorf("the operation's span: %+v", query)
	case query.attributes["graphql.document"] != nil:
		t.Errorf("the document is sent without a request for it: %+v", query)
	case root.parent != query.id:
		t.Errorf("the root field's span: %+v", root)
	case request.service != "kairship-apiserver":
		t.Errorf("the spans are of %q", request.service)
	}
	for _, load := range spans.named("load") {
		if !spans.below(load, root) || load.attributes["kairship.batch.size"].(int64) < 1 || load.attributes["kairship.loader"] == "" {
			t.Errorf("a loader's span: %+v", load)
		}
	}
	var plan struct {
		Extensions struct {
			Plan struct {
				IndexRequests int `json:"indexRequests"`
			} `json:"plan"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal([]byte(got.body), &plan); err != nil {
		t.Fatal(err)
	}
	toIndex, statements := spans.to("index"), spans.to("index-database")
	if recorded := len(toIndex) + len(statements); len(spans.named("load")) == 0 || len(statements) == 0 || recorded < plan.Extensions.Plan.IndexRequests || plan.Extensions.Plan.IndexRequests == 0 {
		t.Errorf("%d loads, and %d requests and %d statements to the index are told, %d were sent", len(spans.named("load")), len(toIndex), len(statements), plan.Extensions.Plan.IndexRequests)
	}
	for _, s := range statements {
		if !spans.below(s, query) || s.name != "SQL" {
			t.Errorf("a statement is below no operation: %+v", s)
		}
	}
	said := w.index.spansOf(callersTrace)
	for _, s := range toIndex {
		if !spans.below(s, query) {
			t.Errorf("a request to the index is below no operation: %+v", s)
		}
		if !said[s.id] {
			t.Errorf("a request to the index does not name its span %s", s.id)
		}
	}
	if len(said) != len(toIndex) {
		t.Errorf("requests to the index name %d spans, and %d are told", len(said), len(toIndex))
	}
	t.Logf("%d spans, %d of requests to the index", len(spans), len(toIndex))
	w.nothingSecret(t)
}

// TestNoValueGoesIntoSpans puts a canary wherever a caller can write something.
func TestNoValueGoesIntoSpans(t *testing.T) {
	w := traced(t, "--tracing-documents")
	got := w.operation(t, "admin", `query Q($name: String! = "`+canary+`") { # `+canary+`
		`+strings.ReplaceAll(canary, "-", "_")+`: instances(filter: {nameContains: "`+canary+`"}) { totalCount } instance(name: $name) { name } }`,
		map[string]any{"name": canary}, map[string]string{"X-Header": canary, "User-Agent": canary, "Tracestate": "kairship=" + canary})
	recorded := w.trace(t, got.trace, "POST /graphql").one(t, "query")
	if want := "query($name:String!){instances(filter){totalCount} instance(name){name}}"; recorded.attributes["graphql.document"] != want {
		t.Errorf("the document is told as %v, want %s", recorded.attributes["graphql.document"], want)
	}
	for _, refused := range []answer{
		w.send(t, http.MethodPost, "/graphql", canary, `{"query":"{viewer{username}}"}`, nil),
		w.send(t, http.MethodPost, "/graphql?"+canary, w.Token(t, "admin"), `{"query":"query `+strings.ReplaceAll(canary, "-", "_")+`{nope}"}`, nil),
		w.send(t, http.MethodGet, "/instances/"+canary+"/proxy/api/v1/namespaces/"+canary+"/pods?x="+canary, w.Token(t, "admin"), "", nil),
	} {
		w.trace(t, refused.trace, rootOf(refused))
	}
	raw := w.everything()
	if bytes.Contains(raw, []byte(strings.ReplaceAll(canary, "-", "_"))) {
		t.Error("a span has an alias, or the name of an operation that was refused")
	}
	// Tracestate is the tracing systems' own field, which spans carry along.
	w.nothingSecretBut(t, "kairship="+canary)
}

func rootOf(a answer) string {
	if strings.Contains(a.body, `"kind":"Status"`) {
		return "GET /instances/{instance}/proxy/{path...}"
	}
	return "POST /graphql"
}

func (w *world) nothingSecretBut(t *testing.T, except string) {
	t.Helper()
	rest := bytes.ReplaceAll(w.everything(), []byte(except), nil)
	if i := bytes.Index(rest, []byte(canary)); i >= 0 {
		t.Errorf("a span has a value of the caller's: %q", rest[max(0, i-200):min(len(rest), i+100)])
	}
	w.noToken(t)
}

func (w *world) noToken(t *testing.T) {
	t.Helper()
	if bytes.Contains(w.everything(), []byte(w.Token(t, "admin"))) {
		t.Error("a span has a token")
	}
}

// TestMutation follows a mutation to the instance.
func TestMutation(t *testing.T) {
	w := traced(t)
	got := w.operation(t, "alice", `mutation M { restartWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "frontend", dryRun: true}) { consistencyToken } }`, nil, nil)
	if got.status != http.StatusOK || strings.Contains(got.body, `"errors"`) {
		t.Fatalf("HTTP %d: %s", got.status, got.body)
	}
	spans := w.trace(t, got.trace, "POST /graphql")
	field := spans.one(t, "mutation.restartWorkload")
	if field.parent != spans.one(t, "mutation").id || field.failed {
		t.Errorf("the mutation's span: %+v", field)
	}
	w.passedOn(t, spans, got.trace, "alpha", field)

	refused := w.operation(t, "alice", `mutation M { restartWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "`+canary+`", dryRun: true}) { consistencyToken } }`, nil, nil)
	if s := w.trace(t, refused.trace, "POST /graphql").one(t, "mutation.restartWorkload"); !s.failed || !strings.Contains(refused.body, refused.trace) {
		t.Errorf("a mutation that failed: %+v, and its answer: %s", s, refused.body)
	}
	w.nothingSecret(t)
}

// passedOn checks that the requests to an instance are told, and name their spans.
func (w *world) passedOn(t *testing.T, spans tree, trace, instance string, above span) {
	t.Helper()
	said, recorded := w.alpha.spansOf(trace), spans.to("instance")
	if len(recorded) == 0 {
		t.Errorf("no request to %s is told", instance)
	}
	for _, s := range recorded {
		if s.attributes["kairship.instance"] != instance || !spans.below(s, above) || !said[s.id] {
			t.Errorf("a request to %s, which was told of it: %t: %+v", instance, said[s.id], s)
		}
	}
}

// TestPassthrough follows a native request to the instance.
func TestPassthrough(t *testing.T) {
	w := traced(t)
	got := w.send(t, http.MethodGet, "/instances/alpha/proxy/api/v1/namespaces/shop/configmaps", w.Token(t, "alice"), "", map[string]string{"Tracestate": "a=b"})
	if got.status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", got.status, got.body)
	}
	spans := w.trace(t, got.trace, "GET /instances/{instance}/proxy/{path...}")
	request := spans.one(t, "GET /instances/{instance}/proxy/{path...}")
	if request.attributes["kairship.instance"] != "alpha" {
		t.Errorf("the request's span: %+v", request)
	}
	w.passedOn(t, spans, got.trace, "alpha", request)
	w.nothingSecret(t)
}

// TestSubscription: a subscription's span is that of its beginning, and its end is
// told by one of its own in the same trace, with a link.
func TestSubscription(t *testing.T) {
	w := traced(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := `{"query":"subscription S { instanceChanged { type } }"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.Address+"/graphql", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.Token(t, "admin"))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	trace := response.Header.Get("Kairship-Trace-Id")
	// It goes on, and is told already.
	spans := w.trace(t, trace, "subscription")
	if s := spans.one(t, "subscription"); s.attributes["graphql.operation.name"] != "S" {
		t.Errorf("the subscription's span: %+v", s)
	}
	read := make([]byte, 4096)
	if _, err := response.Body.Read(read); err != nil {
		t.Fatal(err)
	}
	cancel()
	ended := w.trace(t, trace, "subscription end").one(t, "subscription end")
	if len(ended.links) != 1 || ended.links[0] != trace || ended.attributes["kairship.reason"] == nil || ended.attributes["kairship.events"].(int64) < 1 {
		t.Errorf("its end: %+v", ended)
	}
}

// TestControllersTraceTheirLooks starts a controller manager that traces.
func TestControllersTraceTheirLooks(t *testing.T) {
	f, c := fleet.Open(t), newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_on")
	manager := f.SecondLeader(t)
	defer manager.Stop()
	err := poll.Try(t.Context(), 30*time.Second, func(context.Context) error {
		looks := c.of(func(s span) bool { return s.name == "reconcile instance-status" && s.parent == "" })
		for _, look := range looks {
			below := c.of(func(s span) bool {
				return s.trace == look.trace && s.parent == look.id && s.kind == tracepb.Span_SPAN_KIND_CLIENT
			})
			if look.attributes["kairship.controller"] == "instance-status" && look.service == "kairship-controller-manager" && len(below) > 0 {
				return nil
			}
		}
		return fmt.Errorf("%d looks are told, none with the requests that it sent", len(looks))
	})
	if err != nil {
		t.Error(err)
	}
	if log, err := os.ReadFile(manager.Log); err != nil || !bytes.Contains(log, []byte(`"tracing"`)) {
		t.Errorf("the log does not say that there is tracing: %v", err)
	}
}
