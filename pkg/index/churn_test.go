package index_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

// churn changes an index at random before each request: objects come, go and are
// made again under their old names.
type churn struct {
	x      *indextest.Index
	random *rand.Rand
	// make makes an object up.
	make func(*rand.Rand) indextest.Row
	// most is how many objects go before one request.
	most int

	present map[string]indextest.Row
	// steady are the UIDs of the objects that were there all the time.
	steady map[string]indextest.Row
	// ever are the UIDs of all objects that ever were.
	ever map[string]bool
}

func newChurn(t *testing.T, seed uint64, number, most int, makeRow func(*rand.Rand) indextest.Row) *churn {
	t.Helper()
	c := &churn{
		random: rand.New(rand.NewPCG(seed, 0)), make: makeRow, most: most,
		present: map[string]indextest.Row{}, steady: map[string]indextest.Row{}, ever: map[string]bool{},
	}
	var rows []indextest.Row
	for len(rows) < number {
		r := makeRow(c.random)
		if _, taken := c.present[describeRow(r)]; taken {
			continue
		}
		c.present[describeRow(r)], c.steady[r.UID], c.ever[r.UID] = r, r, true
		rows = append(rows, r)
	}
	c.x = indextest.New(t, rows...)
	c.x.Before(func(url.Values) { c.change() })
	return c
}

// change is called by the index, which answers one request at a time here.
func (c *churn) change() {
	var gone []indextest.Row
	number := c.random.IntN(c.most + 1)
	for name, r := range c.present {
		if len(gone) == number {
			break
		}
		delete(c.present, name)
		delete(c.steady, r.UID)
		gone = append(gone, r)
	}
	c.x.Delete(gone...)
	var come []indextest.Row
	for range c.random.IntN(c.most + 1) {
		r := c.make(c.random)
		if len(gone) > 0 && c.random.IntN(2) == 0 {
			again := gone[0]
			gone = gone[1:]
			again.UID = r.UID
			r = again
		}
		if _, taken := c.present[describeRow(r)]; taken {
			continue
		}
		c.present[describeRow(r)], c.ever[r.UID] = r, true
		come = append(come, r)
	}
	c.x.Put(come...)
}

// check reads the list to its end and looks at what was seen.
func (c *churn) check(t *testing.T, q index.ListQuery) {
	t.Helper()
	var before *index.Object
	seen := map[string]bool{}
	err := pages(t.Context(), clientOf(t, c.x), q, func(p *index.Page) {
		if p.HasNext && len(p.Items) != q.Limit {
			t.Errorf("a page of %d of %d reports that more follow", len(p.Items), q.Limit)
		}
		for _, o := range p.Items {
			uid := string(o.Meta.UID)
			if !c.ever[uid] {
				t.Errorf("%s was never there", describe(o))
			}
			if seen[uid] {
				t.Errorf("%s came twice", describe(o))
			}
			seen[uid] = true
			if before != nil && !inOrder(q.Order, before, o) {
				t.Errorf("%s does not come after %s", describe(o), describe(before))
			}
			before = o
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for uid, r := range c.steady {
		if !seen[uid] {
			t.Errorf("%s was there all the time and was not seen", describeRow(r))
		}
	}
	if len(c.steady) == 0 {
		t.Error("nothing was there all the time: the test shows nothing")
	}
}

func inOrder(o index.Order, a, b *index.Object) bool {
	rows := make([]indextest.Row, 2)
	for i, x := range []*index.Object{a, b} {
		rows[i] = indextest.Row{Cluster: x.Cluster, Kind: x.Kind, Namespace: x.Meta.Namespace, Name: x.Meta.Name, CreatedAt: x.Meta.CreationTimestamp.UTC()}
	}
	return describe(a) != describe(b) && sorted(rows, o)[0] == describe(a)
}

// A client that pages through a list while it changes gets everything that stays, and nothing
// twice.
func TestPagesWhileObjectsComeAndGo(t *testing.T) {
	for seed := range uint64(3) {
		for _, order := range orders() {
			t.Run(fmt.Sprintf("%d/%+v", seed, order), func(t *testing.T) {
				limit := []int{1, 9, 40}[seed%3]
				q := index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha", "k-beta"}, Order: order, Limit: limit}
				newChurn(t, seed, 200, 5, someRow).check(t, q)
			})
		}
	}
}
