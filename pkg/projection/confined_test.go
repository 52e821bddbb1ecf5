package projection_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// node is a node of a plan of PostgreSQL. Rows are those of each of its loops, on average.
type node struct {
	Type       string  `json:"Node Type"`
	Index      string  `json:"Index Name"`
	Table      string  `json:"Relation Name"`
	Rows       float64 `json:"Actual Rows"`
	Loops      float64 `json:"Actual Loops"`
	Filtered   float64 `json:"Rows Removed by Filter"`
	Rechecked  float64 `json:"Rows Removed by Index Recheck"`
	JoinFilter float64 `json:"Rows Removed by Join Filter"`
	Hit        int     `json:"Shared Hit Blocks"`
	Read       int     `json:"Shared Read Blocks"`
	Plans      []node  `json:"Plans"`
}

// read is how many rows the nodes below a node and it read together.
func (n *node) read() float64 {
	all := (n.Rows + n.Filtered + n.Rechecked + n.JoinFilter) * n.Loops
	for i := range n.Plans {
		all += n.Plans[i].read()
	}
	return all
}

// text is the node with those below it that read rows.
func (n *node) text(indent string) string {
	text := fmt.Sprintf("%s%s %s%s: %g rows, %g filtered, in %g loops\n", indent, n.Type, n.Table, n.Index, n.Rows, n.Filtered+n.Rechecked+n.JoinFilter, n.Loops)
	for i := range n.Plans {
		text += n.Plans[i].text(indent + "  ")
	}
	return text
}

// alike makes workloads of an instance that differ from all others in their names alone: all filters
// match every second one of them.
func alike(instance, namespace string, from, n int) []projection.Workload {
	all := make([]projection.Workload, n)
	for i := range all {
		name := fmt.Sprintf("web-%05d", from+i)
		all[i] = projection.Workload{
			WorkloadKey: projection.WorkloadKey{Instance: instance, Namespace: namespace, Name: name, Kind: "DEPLOYMENT"},
			WorkloadState: projection.WorkloadState{
				Health: "HEALTHY", CreatedAt: 1000, LabelKV: []string{"tier=" + []string{"secret", "open"}[i%2]}, Clusters: []string{"m1"}, Scheduled: []string{[]string{"secret", "open"}[i%2]}, Projection: projection.Version,
			},
			WorkloadDoc: projection.WorkloadDoc{
				Labels: map[string]string{}, Images: []string{"image"}, Placements: []projection.Placement{},
			},
			WorkloadSearch: projection.WorkloadSearch{
				ImageKeys: []string{[]string{"secret", "open"}[i%2]}, Search: []string{"the secret word", "open"}[i%2],
			},
			WorkloadObject: projection.WorkloadObject{
				Object: json.RawMessage("{}"),
			},
		}
	}
	return all
}

// TestConfinedReadsNothingHidden checks that a confined caller's lists read as many rows whether or not
// there are others that match: the time of an answer says nothing of what the caller may not see.
func TestConfinedReadsNothingHidden(t *testing.T) {
	index := projectiontest.Postgres(t)
	db := filled(t, index, nil)
	store := func(all []projection.Workload) {
		t.Helper()
		err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) { return &projection.Writes{Workloads: all}, nil })
		if err != nil {
			t.Fatal(err)
		}
		index.Exec(t, "VACUUM ANALYZE")
	}
	reaches := map[string]projection.Query{
		"an instance":  {Instances: []string{"alpha"}, Confined: true},
		"a namespace":  {Scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}}},
		"one of each":  {Instances: []string{"alpha"}, Scopes: []projection.Scope{{Instance: "beta", Namespaces: []string{"shop"}}}, Confined: true},
		"two of these": {Scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}, {Instance: "beta", Namespaces: []string{"shop"}}}},
	}
	filters := map[string]func(*projection.Query){
		"a label":    func(q *projection.Query) { q.Labels = []string{"tier=secret"} },
		"a selector": func(q *projection.Query) { q.Selector = selector(t, "tier in (secret,none)") },
		"a cluster":  func(q *projection.Query) { q.ScheduledTo = []string{"secret"} },
		"drift":      func(q *projection.Query) { q.Drifted = new(true) },
		"an image":   func(q *projection.Query) { q.Images = []string{"secret"} },
		"a digest":   func(q *projection.Query) { q.Images = []string{"secret*", "@secret"} },
		"words":      func(q *projection.Query) { q.Words = []string{"secret", "word"} },
	}
	parts := []projection.Part{{Instance: "alpha", Namespaces: []string{"shop"}}}
	measure := func() map[string]*node {
		t.Helper()
		all := map[string]*node{}
		for reach, q := range reaches {
			for filter, narrow := range filters {
				of := q
				narrow(&of)
				of.Limit, of.WithCount = 50, true
				plans, err := projection.Explain(t.Context(), db, &of, parts, []projection.FacetField{projection.FacetHealth, projection.FacetLabel})
				if err != nil {
					t.Fatal(err)
				}
				for statement, text := range plans {
					var plan []struct {
						Plan node `json:"Plan"`
					}
					if err := json.Unmarshal(text, &plan); err != nil {
						t.Fatal(err)
					}
					all[statement+" of "+filter+" in "+reach] = &plan[0].Plan
				}
			}
		}
		return all
	}
	const seen, hidden = 200, 5000
	store(append(alike("alpha", "shop", 0, seen/2), alike("beta", "shop", seen/2, seen/2)...))
	before := measure()
	// What is hidden lies before and behind what is not, in every order.
	for _, instance := range []string{"aaa", "zzz"} {
		store(alike(instance, "shop", 0, hidden/4))
		store(alike(instance, "a-namespace", 0, hidden/4))
	}
	after := measure()
	// Each of a dozen nodes may read what is seen. Of few rows a plan may be a worse one.
	for what, plan := range after {
		if was, is := before[what].read(), plan.read(); is > 15*seen {
			t.Errorf("%s: %g rows were read of %d, and %g with %d hidden ones:\n%s\nbefore:\n%s", what, was, seen, is, hidden, plan.text(""), before[what].text(""))
		}
	}
	if len(after) != len(reaches)*len(filters)*3 {
		t.Errorf("%d statements were explained", len(after))
	}

	// Of a caller who sees most workloads the whole table is read; then it does not matter which of
	// those that are hidden match.
	clear(reaches)
	reaches["most"] = projection.Query{Instances: []string{"aaa", "alpha", "beta"}, Confined: true}
	parts[0] = projection.Part{Instance: "aaa"}
	before = measure()
	index.Exec(t, "UPDATE kairship.workload SET label_kv = '{tier=open}', scheduled = '{open}' WHERE instance = 'zzz'")
	index.Exec(t, "UPDATE kairship.workload_search SET image_keys = '{open}', search = 'open' WHERE id IN (SELECT id FROM kairship.workload WHERE instance = 'zzz')")
	index.Exec(t, "VACUUM FULL ANALYZE")
	for what, plan := range measure() {
		if was, is := before[what].read(), plan.read(); is != was {
			t.Errorf("%s: %g rows were read when hidden ones matched, and %g when none did:\n%s\nbefore:\n%s", what, was, is, plan.text(""), before[what].text(""))
		}
	}
}
