package index_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

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
			t.Errorf("a page of %d of %d says that more follow", len(p.Items), q.Limit)
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

// A reader who goes through a list while it changes sees everything that stays,
// and nothing twice.
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

// Without SQL a page is found by scanning to it, in several requests, and the list
// changes between these too.
func TestPagesWhileObjectsComeAndGoWithoutSQL(t *testing.T) {
	many := func(r *rand.Rand) indextest.Row {
		one := someRow(r)
		one.Name = fmt.Sprintf("w%04d", r.IntN(2000))
		one.CreatedAt = one.CreatedAt.UTC() // See pagedRows.
		return one
	}
	for _, tt := range []struct {
		name  string
		limit int
		order index.Order
		why   string
	}{
		{"small pages", 97, index.Order{}, "most scans end in the middle of a batch"},
		{"the largest page", 500, index.Order{}, "a page is as large as a batch of the scan"},
		{"nearly the largest page", 482, index.Order{Field: index.OrderByName, Desc: true}, "a page ends at the seam of two batches"},
		{"by time", 450, index.Order{Field: index.OrderByCreation}, "objects of one second are told apart by the rest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChurn(t, 7, 1700, 12, many)
			c.x.AcceptSQL(false)
			c.check(t, index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha", "k-beta"}, Order: tt.order, Limit: tt.limit})
		})
	}
}

// What the index can't filter is sifted here, and then a batch may hold little:
// an object that two batches share is still one.
func TestSparsePagesWithoutSQL(t *testing.T) {
	var rows []indextest.Row
	var want []string
	for i := range 3000 {
		r := row(index.Deployments, "k-alpha", "ops", fmt.Sprintf("w%04d", i))
		// Those that are wanted stand where two batches of a scan meet, and far away.
		if i%450 < 10 || i > 2990 {
			r.Namespace = "shop"
			want = append(want, r.Name)
		}
		rows = append(rows, r)
	}
	x := indextest.New(t, rows...)
	x.AcceptSQL(false)
	for _, limit := range []int{10, 12, 500} {
		q := index.ListQuery{
			Types: workloadTypes, Order: index.Order{Field: index.OrderByName}, Limit: limit,
			// Scopes that differ can't be asked for.
			Scopes: []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"shop"}}, {Cluster: "k-beta", EveryNamespace: true}},
		}
		var got []string
		if err := pages(t.Context(), clientOf(t, x), q, func(p *index.Page) {
			for _, o := range p.Items {
				got = append(got, o.Meta.Name)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, diff)
		}
	}
}
