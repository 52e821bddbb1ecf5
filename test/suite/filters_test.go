package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// soon is how long an answer may take to follow what happens meanwhile: the
// world of the suite has settled, but a fleet is never quite still.
const soon = 5 * time.Second

// filterCase tries one value of one argument of a list.
type filterCase struct {
	// argument that is tried, for example filter.name.
	argument string
	value    any
	// more are other arguments that it is given together with.
	more map[string]any
	// match returns what the list must show.
	match func(item) bool
	// refused is the argument at which the list is refused with INVALID; empty where it
	// answers.
	refused string
	why     string
}

// TestEveryFilterShowsWhatItShould tries every argument of every list against
// what the clusters themselves say, on one page and on several.
func TestEveryFilterShowsWhatItShould(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.ObjectLists(theSchema) {
		for _, c := range w.casesOf(list) {
			t.Run(fmt.Sprintf("%s/%s=%v", list.Key(), c.argument, w.short(fmt.Sprint(c.value))), func(t *testing.T) {
				w.try(t, on, list, c)
			})
		}
	}
}

// TestEveryFilterFindsSomethingAndLeavesSomethingOut sees to it that the cases
// above can fail: every argument has a case with a result and one that leaves
// something out.
func TestEveryFilterFindsSomethingAndLeavesSomethingOut(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.ObjectLists(theSchema) {
		finds, leaves := map[string]bool{}, map[string]bool{}
		all, err := w.items(t.Context(), t, list)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range w.casesOf(list) {
			n := 0
			for _, i := range all {
				if c.match(i) {
					n++
				}
			}
			finds[c.argument] = finds[c.argument] || n > 0
			leaves[c.argument] = leaves[c.argument] || n < len(all)
		}
		for argument := range finds {
			inOneInstance := argument == "filter.instances" && (list.Node == "Workload" || list.Node == "Pod")
			withoutNamespace := argument == "filter.namespaces" && (strings.HasPrefix(list.Node, "Cluster") || list.Node == "WorkloadRebalancer")
			if !finds[argument] && !withoutNamespace {
				t.Errorf("no case of %s(%s) finds anything", list.Key(), argument)
			}
			if !leaves[argument] && !inOneInstance && argument != "first" {
				t.Errorf("no case of %s(%s) leaves anything out", list.Key(), argument)
			}
		}
	}
}

// try compares a list with the truth, as one page and in several.
func (w *world) try(t *testing.T, on *target, list schema.List, c filterCase) {
	t.Helper()
	variables := maps.Clone(c.more)
	if variables == nil {
		variables = map[string]any{}
	}
	set(variables, c.argument, c.value)
	r := w.filterRoute(t, list)
	if c.refused != "" {
		answer := on.kairship.Must(t, gql.Request{Query: r.query(list, wholeConnection(list)), Variables: with(variables, "first", 1)})
		if len(answer.Errors) != 1 || answer.Errors[0].Extensions.Code != "INVALID" || answer.Errors[0].Extensions.Argument != c.refused {
			t.Errorf("%s: got %s, want INVALID at %s", c.why, answer.Body, c.refused)
		}
		return
	}
	poll.Until(t, soon, "the list shows what the clusters say", func(ctx context.Context) error {
		all, err := w.items(ctx, t, list)
		if err != nil {
			return err
		}
		var want []string
		for _, i := range all {
			if c.match(i) {
				want = append(want, i.name)
			}
		}
		got, err := everyPage(ctx, on, list, r, variables, 500, len(want))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
			return fmt.Errorf("%s\nthe clusters say -, Kairship says +:\n%s", c.why, diff)
		}
		again, err := everyPage(ctx, on, list, r, variables, max(1, (len(want)+2)/3), len(want))
		if err != nil {
			return err
		}
		if diff := cmp.Diff(got, again); diff != "" {
			return fmt.Errorf("one page says -, several pages say +:\n%s", diff)
		}
		return nil
	})
}

// everyPage reads a list to its end, and checks what each page reports about itself.
// The pages must not change from one to the next; an error says what did.
func everyPage(ctx context.Context, on *target, list schema.List, r route, variables map[string]any, first, total int) ([]string, error) {
	var all []string
	var after *string
	for pages := 0; ; pages++ {
		if pages > total+1 {
			return nil, poll.Stop(fmt.Errorf("the list has no end: %d pages of %d", pages, first))
		}
		c, err := page(ctx, on.kairship, list, r, with(variables, "first", first, "after", after))
		if err != nil {
			return nil, err
		}
		if err := c.consistent(first, after != nil); err != nil {
			return nil, poll.Stop(fmt.Errorf("page %d: %w", pages+1, err))
		}
		switch {
		case c.TotalCount == nil:
			return nil, fmt.Errorf("page %d does not tell totalCount", pages+1)
		case *c.TotalCount != total:
			return nil, fmt.Errorf("page %d counts %d, there are %d", pages+1, *c.TotalCount, total)
		}
		for _, n := range c.Nodes {
			all = append(all, nameOf(n))
		}
		if !c.PageInfo.HasNextPage {
			return all, nil
		}
		after = c.PageInfo.EndCursor
	}
}

// consistent checks that a page agrees with itself.
func (c *connection) consistent(first int, hasPrevious bool) error {
	switch {
	case len(c.Nodes) > first:
		return fmt.Errorf("it has %d items, asked for were %d", len(c.Nodes), first)
	case len(c.Edges) != len(c.Nodes):
		return fmt.Errorf("it has %d edges and %d nodes", len(c.Edges), len(c.Nodes))
	case c.PageInfo.HasPreviousPage != hasPrevious:
		return fmt.Errorf("hasPreviousPage is %v", c.PageInfo.HasPreviousPage)
	case c.Freshness.Source != "INDEX" && c.Freshness.Source != "LIVE":
		return fmt.Errorf("its freshness has the source %q", c.Freshness.Source)
	}
	cursors := map[string]struct{}{}
	for i, e := range c.Edges {
		if string(e.Node) != string(c.Nodes[i]) {
			return fmt.Errorf("edge %d has %s, node %d is %s", i, e.Node, i, c.Nodes[i])
		}
		cursors[e.Cursor] = struct{}{}
	}
	if len(cursors) != len(c.Edges) {
		return fmt.Errorf("%d edges have %d cursors", len(c.Edges), len(cursors))
	}
	if n := len(c.Edges); n > 0 {
		if c.PageInfo.StartCursor == nil || *c.PageInfo.StartCursor != c.Edges[0].Cursor || c.PageInfo.EndCursor == nil || *c.PageInfo.EndCursor != c.Edges[n-1].Cursor {
			return fmt.Errorf("startCursor and endCursor are not those of the first and the last edge")
		}
	}
	if c.PageInfo.HasNextPage && c.PageInfo.EndCursor == nil {
		return fmt.Errorf("more follows, and there is no endCursor")
	}
	return nil
}

// set puts a value at a path like filter.policy.name.
func set(variables map[string]any, path string, value any) {
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		inner, ok := variables[step].(map[string]any)
		if !ok {
			inner = map[string]any{}
		}
		inner = maps.Clone(inner)
		variables[step] = inner
		variables = inner
	}
	variables[steps[len(steps)-1]] = value
}

// filterRoute leads to a list whose items differ in everything that is filtered by.
func (w *world) filterRoute(t testing.TB, list schema.List) route {
	switch list.Parent {
	case "PropagationPolicy":
		return inInstance("alpha", fmt.Sprintf("propagationPolicy(namespace: %q, name: %q)", w.a, "mix"), "")
	case "ClusterPropagationPolicy":
		return inInstance("alpha", fmt.Sprintf("clusterPropagationPolicy(name: %q)", "suite-"+w.id+"-mix"), "")
	}
	return w.routeTo(t, list)
}

// settled waits until the workloads are as they are made to be.
func (w *world) settled(t testing.TB, on *target) {
	t.Helper()
	const query = `query($ns: [String!]) { workloads(first: 500, filter: {namespaces: $ns}) { nodes { instance { name } kind namespace name health } } }`
	poll.Until(t, 2*propagationTimeout, "the suite's workloads are as they are made to be", func(ctx context.Context) error {
		found, err := pageOf(ctx, on.kairship, query, []string{"workloads"}, map[string]any{"ns": w.suiteNamespaces()})
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, raw := range found.Nodes {
			if health := healthOf(raw); health != "UNPROPAGATED" {
				got[w.short(nameOf(raw))] = health
			}
		}
		if diff := cmp.Diff(suiteHealth, got); diff != "" {
			return fmt.Errorf("health (-made to be +got):\n%s", diff)
		}
		return nil
	})
}
