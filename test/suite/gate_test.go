package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestTheGateMayBeSwitchedUnderARunningKairship switches the feature gate for SQL off and
// on again under a server without a projection, which asks all the time. An index without
// the gate answers with everything there is, also of other instances: none of that may be
// seen, and the response says what is wrong.
func TestTheGateMayBeSwitchedUnderARunningKairship(t *testing.T) {
	on, g := behind(t)
	w := theWorld(t)
	w.settled(t, on)
	off := on.fleet.PlainIndex(t)
	const query = `query($ns: [String!]) { instances(filter: {name: ["alpha", "beta"]}) { nodes { name } }
		instance(name: "beta") { workloads(first: 3) { nodes { instance { name } kind namespace name } totalCount } }
		workloads(first: 7, filter: {namespaces: $ns, nameContains: "mix", kinds: [DEPLOYMENT, STATEFUL_SET]}, orderBy: {field: NAME}) {
			nodes { instance { name } kind namespace name health placements { clusterName desired object { uid } } } totalCount } }`
	const gateIsOff = "the feature gate AllowParameterizedSQLQuery of clusterpedia-apiserver is off"
	ask := func() *gql.Result {
		return on.kairship.Must(t, gql.Request{Query: query, Variables: map[string]any{"ns": w.suiteNamespaces()}})
	}
	first := ask()
	if len(first.Errors) > 0 {
		t.Fatal(first.Errors)
	}
	var shown map[string]any
	if err := json.Unmarshal(first.Data, &shown); err != nil {
		t.Fatal(err)
	}
	known := workloadsIn(shown)
	if len(known) < 7 {
		t.Fatalf("there are only %d workloads: the test proves nothing", len(known))
	}
	const switches, asked = 5, 20
	for n := range switches {
		g.SendIndexTo(off)
		for i := range asked {
			r := ask()
			var data map[string]any
			if err := json.Unmarshal(r.Data, &data); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(shown["instances"], data["instances"]); diff != "" {
				t.Errorf("what needs no index differs:\n%s", diff)
			}
			for name := range workloadsIn(data) {
				if !known[name] {
					t.Fatalf("question %d after the gate was switched off for the %dth time shows %s", i+1, n+1, name)
				}
			}
			if len(r.Errors) == 0 {
				t.Fatalf("question %d was answered by an index that passes over conditions: %.500s", i+1, r.Body)
			}
			for _, e := range r.Errors {
				if e.Extensions.Code != "INDEX_UNAVAILABLE" || !strings.Contains(e.Message, gateIsOff) {
					t.Errorf("question %d: %s: %s", i+1, e.Extensions.Code, e)
				}
			}
		}
		poll.Until(t, soon, "readiness says so", func(ctx context.Context) error {
			if report := readiness(ctx, t, on); !strings.Contains(report, gateIsOff) {
				return errors.New(report)
			}
			return nil
		})
		g.SendIndexTo(on.fleet.IndexURL)
		for i := range asked {
			if diff := cmp.Diff(string(first.Data), string(ask().Data)); diff != "" {
				t.Fatalf("question %d after the gate was switched on again (-before +now):\n%s", i+1, diff)
			}
		}
	}
}

// workloadsIn are the names of the workloads in an answer.
func workloadsIn(data any) map[string]bool {
	names := map[string]bool{}
	switch data := data.(type) {
	case map[string]any:
		if instance, ok := data["instance"].(map[string]any); ok && data["kind"] != nil {
			names[fmt.Sprint(instance["name"], data["kind"], data["namespace"], data["name"])] = true
		}
		for _, below := range data {
			maps.Copy(names, workloadsIn(below))
		}
	case []any:
		for _, below := range data {
			maps.Copy(names, workloadsIn(below))
		}
	}
	return names
}

// readiness reads the report of a server about itself.
func readiness(ctx context.Context, t *testing.T, on *target) string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, on.url+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// TestAnIndexThatMisbehavesCostsOnlyItsPart has the index answer with all that
// it should not. What does not need it is still there.
func TestAnIndexThatMisbehavesCostsOnlyItsPart(t *testing.T) {
	on, g := behind(t, "--index-timeout=700ms", "--request-timeout=1500ms")
	const query = `{ instances(filter: {name: ["alpha", "beta"]}) { nodes { name state
		workloads { nodes { name health placements { clusterName } } } memberClusters { nodes { name } } } } }`
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"fails", answering(http.StatusInternalServerError, `{"kind":"Status","message":"boom"}`)},
		{"is not let in", answering(http.StatusForbidden, `{"kind":"Status","reason":"Forbidden"}`)},
		{"is not there", answering(http.StatusNotFound, "404 page not found")},
		{"is starting", answering(http.StatusServiceUnavailable, "")},
		{"sends a page for people", answering(http.StatusOK, "<html>hello</html>")},
		{"sends nothing", answering(http.StatusOK, "")},
		{"sends objects without a cluster", answering(http.StatusOK, `{"items":[{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"x","namespace":"y"}}]}`)},
		{"sends objects that are none", answering(http.StatusOK, `{"items":["x",1,null]}`)},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"items":[`)
		}},
		{"hangs up", func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g.AnswerIndexWith(tt.answer)
			r := on.kairship.Must(t, gql.Request{Query: query})
			if r.Took > 2*time.Second {
				t.Errorf("the answer took %s, the request's deadline is 1.5 s", r.Took)
			}
			if r.Status != http.StatusOK || len(r.Errors) == 0 {
				t.Fatalf("HTTP %d, %d errors: %.500s", r.Status, len(r.Errors), r.Body)
			}
			for _, e := range r.Errors {
				if code := e.Extensions.Code; code != "INDEX_UNAVAILABLE" && code != "TIMEOUT" {
					t.Errorf("an error of code %s: %s", code, e)
				}
				if len(e.Path) < 4 {
					t.Errorf("an error without the path of its part: %s", e)
				}
			}
			var data fleetAnswer
			if err := json.Unmarshal(r.Data, &data); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, i := range data.Instances.Nodes {
				names = append(names, i.Name+" "+i.State)
				if len(i.Workloads.Nodes) > 0 || len(i.MemberClusters.Nodes) > 0 {
					t.Errorf("%s shows what was not answered: %+v", i.Name, i)
				}
			}
			if diff := cmp.Diff([]string{"alpha RUNNING", "beta RUNNING"}, names); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
	g.SendIndexTo(on.fleet.IndexURL)
	poll.Until(t, propagationTimeout, "it recovers on its own", func(ctx context.Context) error {
		data, _, err := gql.Query[fleetAnswer](ctx, on.kairship, fleetQuery, nil)
		if err != nil {
			return err
		}
		onlySamples(on.fleet, &data)
		if len(data.Instances.Nodes) != 2 || !slices.ContainsFunc(data.Instances.Nodes[0].Workloads.Nodes, func(w workloadAnswer) bool { return w.Health == "HEALTHY" }) {
			return errors.New("the applications are not all there")
		}
		return nil
	})
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	if conn, _, err := hijacker.Hijack(); err == nil {
		_ = conn.Close()
	}
}
