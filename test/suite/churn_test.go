package suite

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// The list that is paged through while it changes.
const (
	lastingCount = 200
	churnCount   = 20
	churnPage    = 7
)

// TestPagingWhileObjectsComeAndGoShowsNothingTwiceAndMissesNothing pages
// through 200 workloads by 7 while 20 others are created and deleted among
// them, in every order and both directions; the short form takes every third.
func TestPagingWhileObjectsComeAndGoShowsNothingTwiceAndMissesNothing(t *testing.T) {
	f := open(t).fleet
	w := &world{fleet: f, id: newID()}
	ns := "suite-" + w.id + "-churn"
	t.Cleanup(w.remove)
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}}, created{"beta", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	var lasting []created
	for i := range lastingCount {
		lasting = append(lasting, created{instanceOfNumber(i), deployment(w.meta(ns, fmt.Sprintf("n-%03d", i)))})
	}
	w.create(t, lasting...)
	on := open(t)
	waitForLasting(t, on, ns)
	changes := w.churn(t, ns)
	all := w.pagings(ns)
	for i := 0; i < len(all); i += longtest.Step() {
		try := all[i]
		t.Run(try.name, func(t *testing.T) {
			before := changes.count()
			for runs := 1; ; runs++ {
				try.run(t, on)
				if t.Failed() {
					return
				}
				// The faster the paging, the more often it has to be done to meet enough changes.
				if changes.count()-before >= 2*churnCount {
					t.Logf("%d times through the list, %d changes meanwhile", runs, changes.count()-before)
					return
				}
			}
		})
	}
}

// instanceOfNumber spreads the objects over both instances.
func instanceOfNumber(i int) string { return []string{"alpha", "alpha", "alpha", "beta"}[i%4] }

func waitForLasting(t *testing.T, on *target, ns string) {
	t.Helper()
	poll.Until(t, propagationTimeout, "the index has all that stay", func(ctx context.Context) error {
		type answer struct{ Workloads struct{ TotalCount int } }
		data, _, err := gql.Query[answer](ctx, on.kairship, `query($ns: [String!]) { workloads(first: 1, filter: {namespaces: $ns}) { totalCount } }`, map[string]any{"ns": ns})
		if err == nil && data.Workloads.TotalCount < lastingCount {
			err = fmt.Errorf("it has %d", data.Workloads.TotalCount)
		}
		return err
	})
}

// paging is a list that is paged through.
type paging struct {
	name      string
	list      schema.List
	route     route
	variables map[string]any
	// mustShow is how many of those that stay are in the list.
	mustShow int
}

func (w *world) pagings(ns string) []paging {
	var all []paging
	filter := map[string]any{"namespaces": ns}
	for _, list := range schema.Lists(theSchema) {
		if list.Key() != "Query.workloads" && list.Key() != "Instance.workloads" {
			continue
		}
		r, n := route{}, lastingCount
		if list.Parent == "Instance" {
			r, n = inInstance("alpha", "", ""), lastingCount*3/4
		}
		for _, field := range schema.Values(theSchema, "WorkloadOrderField") {
			for _, direction := range schema.Values(theSchema, "OrderDirection") {
				all = append(all, paging{
					list.Key() + " by " + field + " " + direction, list, r,
					map[string]any{"filter": filter, "orderBy": map[string]any{"field": field, "direction": direction}}, n,
				})
			}
		}
		scanned := map[string]any{"namespaces": ns, "health": []string{"UNPROPAGATED"}}
		all = append(all, paging{list.Key() + " scanned", list, r, map[string]any{"filter": scanned}, n})
	}
	return all
}

// run pages through the list once.
func (p paging) run(t *testing.T, on *target) {
	t.Helper()
	shown := map[string]int{}
	var after *string
	for n := 1; ; n++ {
		c, err := page(t.Context(), on.kairship, p.list, p.route, with(p.variables, "first", churnPage, "after", after))
		if err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
		if c.PageInfo.HasNextPage && len(c.Nodes) < churnPage {
			t.Fatalf("page %d has %d items, and more follow", n, len(c.Nodes))
		}
		if c.TotalCount != nil && *c.TotalCount < p.mustShow {
			t.Errorf("page %d counts %d, there are always %d", n, *c.TotalCount, p.mustShow)
		}
		for _, node := range c.Nodes {
			name := nameOf(node)
			if before, twice := shown[name]; twice {
				t.Errorf("%s is on page %d and on page %d", name, before, n)
			}
			shown[name] = n
		}
		if !c.PageInfo.HasNextPage {
			break
		}
		after = c.PageInfo.EndCursor
	}
	var missing []string
	stay := 0
	for i := range lastingCount {
		instance := instanceOfNumber(i)
		if p.list.Parent == "Instance" && instance != "alpha" {
			continue
		}
		stay++
		namespaces, _ := p.variables["filter"].(map[string]any)
		name := fmt.Sprintf("%s/DEPLOYMENT/%s/n-%03d", instance, namespaces["namespaces"], i)
		if _, ok := shown[name]; !ok {
			missing = append(missing, name)
		}
	}
	if stay != p.mustShow {
		t.Fatalf("the test looks for %d objects, want %d", stay, p.mustShow)
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("%d of %d that were there all the time are missing: %v", len(missing), stay, missing)
	}
}

// changes counts what came and went.
type changes struct {
	mu sync.Mutex
	n  int
}

func (c *changes) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *changes) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// churnEvery is the time between two changes: fast enough for several on the
// way through the list, and slow enough for a page to catch up with what is
// created behind it.
const churnEvery = 15 * time.Millisecond

// churn creates and deletes objects until the test ends, twenty at a time. Each
// has a name of its own, between those that stay: what is shown twice is the
// same object.
func (w *world) churn(t *testing.T, ns string) *changes {
	t.Helper()
	counted := &changes{}
	alpha, beta := w.fleet.Client(t, "alpha"), w.fleet.Client(t, "beta")
	ctx, cancel := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		type living struct {
			c client.Client
			o client.Object
		}
		var alive []living
		tick := time.NewTicker(churnEvery)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			var err error
			if len(alive) < churnCount {
				// 73 is prime to 200, so that they come up all over the list.
				number := i * 73 % lastingCount
				c := map[string]client.Client{"alpha": alpha, "beta": beta}[instanceOfNumber(number)]
				o := deployment(w.meta(ns, fmt.Sprintf("n-%03d-%s-%d", number, newID(), i)))
				err = c.Create(ctx, o)
				alive = append(alive, living{c, o})
			} else {
				for _, one := range alive {
					if err = one.c.Delete(ctx, one.o); err != nil {
						break
					}
					counted.add()
				}
				alive = nil
			}
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("changing the list: %w", err)
			}
			counted.add()
		}
	})
	t.Cleanup(func() {
		cancel()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	return counted
}
