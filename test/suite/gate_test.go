package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/poll"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// clock is a clock that a test turns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) turn(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// TestSwitchingTheGateIsNoticed switches between an index that takes SQL from
// callers and one that does not, under one client of it: its answers are the
// same all the time, and within a minute it asks as it should.
func TestSwitchingTheGateIsNoticed(t *testing.T) {
	on := open(t)
	if on.plain {
		t.Skip("the fleet's index takes no SQL from callers")
	}
	g := on.fleet.NewGateway(t)
	plain := on.fleet.PlainIndex(t)
	now := &clock{now: time.Now()}
	c, err := index.New(index.Config{REST: &rest.Config{Host: g.URL}, Now: now.Now})
	if err != nil {
		t.Fatal(err)
	}
	q := index.ListQuery{
		Types: []index.Type{index.Deployments, index.StatefulSets}, Clusters: []string{"k-alpha"}, Namespaces: []string{"shop"},
		Names: []string{"frontend", "cart"}, Limit: 10, WithCount: true,
	}
	want := []string{"StatefulSet shop/cart", "Deployment shop/frontend"}
	check := func(when string) {
		t.Helper()
		page, err := c.List(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		var got []string
		for _, o := range page.Items {
			got = append(got, fmt.Sprintf("%s %s/%s", o.Kind, o.Meta.Namespace, o.Meta.Name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if page.Count == nil || *page.Count != int64(len(want)) {
			t.Errorf("%s: the count is %v, want %d", when, page.Count, len(want))
		}
	}
	takesSQL := func(when string, want bool) {
		t.Helper()
		if got, err := c.CanFilterPlacement(t.Context()); err != nil || got != want {
			t.Errorf("%s: it takes the index for one with SQL: %v, %v; want %v", when, got, err, want)
		}
	}
	check("at first")
	takesSQL("at first", true)
	g.SendIndexTo(plain)
	check("right after the gate was switched off")
	now.turn(2 * time.Minute)
	check("later")
	takesSQL("later", false)
	g.SendIndexTo(on.fleet.IndexURL)
	check("right after the gate was switched on again")
	now.turn(2 * time.Minute)
	check("at last")
	takesSQL("at last", true)
}

// TestTheGateMayBeSwitchedUnderARunningKairship asks all the time while the index
// changes between one that takes SQL from callers and one that does not. Every
// answer is whole and right: an index that passes over a condition answers with
// everything there is, also of other instances, and none of that may be seen.
func TestTheGateMayBeSwitchedUnderARunningKairship(t *testing.T) {
	on, g := behind(t)
	w := theWorld(t)
	w.settled(t, on)
	plain := on.fleet.PlainIndex(t)
	const query = `query($ns: [String!], $after: String) {
		instance(name: "beta") { workloads(first: 3) { nodes { instance { name } kind namespace name } } }
		workloads(first: 7, after: $after, filter: {namespaces: $ns, nameContains: "mix", kinds: [DEPLOYMENT, STATEFUL_SET]}, orderBy: {field: NAME}) {
			nodes { instance { name } kind namespace name health placements { clusterName desired object { uid } } }
			pageInfo { hasNextPage endCursor } totalCount } }`
	whole := func() (string, error) {
		var all []json.RawMessage
		var after *string
		for {
			data, _, err := gql.Query[struct{ Instance, Workloads json.RawMessage }](t.Context(), on.kairship, query,
				map[string]any{"ns": w.suiteNamespaces(), "after": after})
			if err != nil {
				return "", err
			}
			var c connection
			if err := json.Unmarshal(data.Workloads, &c); err != nil {
				return "", err
			}
			all = append(append(all, data.Instance), c.Nodes...)
			if !c.PageInfo.HasNextPage {
				all = append(all, fmt.Appendf(nil, "%d", *c.TotalCount))
				text, err := json.MarshalIndent(all, "", " ")
				return string(text), err
			}
			after = c.PageInfo.EndCursor
		}
	}
	want, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	const switches, every = 10, 200 * time.Millisecond
	answers := 0
	for n := range switches {
		g.SendIndexTo([]string{plain, on.fleet.IndexURL}[n%2])
		for until := time.Now().Add(every); time.Now().Before(until); answers++ {
			got, err := whole()
			if err != nil {
				t.Fatalf("after %d switches: %v", n+1, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d switches (-before +now):\n%s", n+1, diff)
			}
		}
	}
	t.Logf("%d times the same answer", answers)
}

// TestPagesGoOnWhenTheGateIsSwitched reads some pages of a list from an index
// with SQL and the rest without: a cursor of the one is as good in the other.
func TestPagesGoOnWhenTheGateIsSwitched(t *testing.T) {
	withSQL, without := open(t), openPlain(t)
	w := theWorld(t)
	w.settled(t, withSQL)
	for _, list := range schema.Lists(theSchema) {
		argument := list.Field.Arguments.ForName("orderBy")
		if argument == nil {
			continue
		}
		for _, field := range schema.Values(theSchema, theSchema.Types[argument.Type.Name()].Fields.ForName("field").Type.Name()) {
			t.Run(list.Key()+"/"+field, func(t *testing.T) {
				variables, _ := w.ordered(list)
				variables["orderBy"] = map[string]any{"field": field, "direction": "DESC"}
				r := w.filterRoute(t, list)
				poll.Until(t, soon, "both ways show the same", func(ctx context.Context) error {
					whole, err := page(ctx, withSQL.kairship, list, r, with(variables, "first", 500))
					if err != nil {
						return err
					}
					var want, got []string
					for _, n := range whole.Nodes {
						want = append(want, nameOf(n))
					}
					if len(want) < 2 {
						return fmt.Errorf("there are only %d", len(want))
					}
					var after *string
					for turn := 0; ; turn++ {
						on := []*target{withSQL, without}[turn%2]
						c, err := page(ctx, on.kairship, list, r, with(variables, "first", max(1, len(want)/4), "after", after))
						if err != nil {
							return err
						}
						for _, n := range c.Nodes {
							got = append(got, nameOf(n))
						}
						if !c.PageInfo.HasNextPage || len(got) > 2*len(want) {
							break
						}
						after = c.PageInfo.EndCursor
					}
					if diff := cmp.Diff(want, got); diff != "" {
						return fmt.Errorf("one page says -, pages in turns say +:\n%s", diff)
					}
					return nil
				})
			})
		}
	}
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
		{"sends objects of nobody", answering(http.StatusOK, `{"items":[{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"x","namespace":"y"}}]}`)},
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
					t.Errorf("%s shows what nobody answered: %+v", i.Name, i)
				}
			}
			if diff := cmp.Diff([]string{"alpha RUNNING", "beta RUNNING"}, names); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
	g.SendIndexTo(on.fleet.IndexURL)
	poll.Until(t, settle, "it recovers by itself", func(ctx context.Context) error {
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
