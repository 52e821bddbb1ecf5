package listing_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func object(name string, age int, labels map[string]string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(age) * time.Hour))}
}

func all(*metav1.ObjectMeta) bool { return true }

func namesOf(items []*metav1.ObjectMeta) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Name
	}
	return names
}

func TestMemoryFilters(t *testing.T) {
	items := []*metav1.ObjectMeta{
		object("beta", 1, map[string]string{"env": "prod", "size": "3"}), object("alpha", 2, map[string]string{"env": "test"}), object("gamma", 3, nil),
	}
	for _, tt := range []struct {
		name   string
		filter listing.Filter
		match  func(*metav1.ObjectMeta) bool
		want   []string
		why    string
	}{
		{"none", listing.Filter{}, all, []string{"alpha", "beta", "gamma"}, "everything, in order"},
		{"name", listing.Filter{Name: []string{"gamma", "alpha", "delta"}}, all, []string{"alpha", "gamma"}, "those that are there"},
		{"no name", listing.Filter{Name: []string{}}, all, []string{}, "a list of no names is not no list"},
		{"part of a name", listing.Filter{NameContains: new("mm")}, all, []string{"gamma"}, "anywhere in it"},
		{"label", listing.Filter{LabelSelector: new("env=prod")}, all, []string{"beta"}, "as Kubernetes means it"},
		{"label differs", listing.Filter{LabelSelector: new("env!=prod")}, all, []string{"alpha", "gamma"}, "an object without the label differs"},
		{"number", listing.Filter{LabelSelector: new("size>2")}, all, []string{"beta"}, "here labels can be compared"},
		{"match", listing.Filter{NameContains: new("a")}, func(o *metav1.ObjectMeta) bool { return o.Name != "beta" }, []string{"alpha", "gamma"}, "both have to hold"},
	} {
		c, err := listing.Memory(listing.MemoryRequest[*metav1.ObjectMeta]{Filter: tt.filter, Match: tt.match, Items: items, Order: index.Order{Field: index.OrderByName}, Now: now})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := gocmp.Diff(tt.want, namesOf(c.Nodes)); diff != "" || *c.TotalCount != len(tt.want) {
			t.Errorf("%s: %s; counted %d (-want +got):\n%s", tt.name, tt.why, *c.TotalCount, diff)
		}
	}
	if diff := gocmp.Diff([]string{"beta", "alpha", "gamma"}, namesOf(items)); diff != "" {
		t.Errorf("the caller's objects were put in another order:\n%s", diff)
	}
}

func TestMemoryRefuses(t *testing.T) {
	request := listing.MemoryRequest[*metav1.ObjectMeta]{Noun: "Instance", Match: all, Now: now, Items: []*metav1.ObjectMeta{object("a", 1, nil), object("b", 1, nil)}}
	request.Args.First = new(1)
	first, err := listing.Memory(request)
	if err != nil {
		t.Fatal(err)
	}
	cursor := first.PageInfo.EndCursor
	for _, tt := range []struct {
		name     string
		change   func(*listing.MemoryRequest[*metav1.ObjectMeta])
		argument string
		want     apierror.Code
	}{
		{"too many", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Args.First = new(501) }, "first", apierror.CodeInvalid},
		{"selector", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Filter.LabelSelector = new("a in") }, "filter.labelSelector", apierror.CodeInvalid},
		{"no cursor", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Args.After = new("x") }, "after", apierror.CodeInvalid},
		{"another noun", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Args.After, r.Noun = cursor, "Cluster" }, "after", apierror.CodeStaleCursor},
		{"another filter", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) {
			r.Args.After, r.Filter.Name = cursor, []string{"a"}
		}, "after", apierror.CodeStaleCursor},
		{"another match", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Args.After, r.MatchIdentity = cursor, "x" }, "after", apierror.CodeStaleCursor},
		{"another order", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) { r.Args.After, r.Order.Desc = cursor, true }, "after", apierror.CodeStaleCursor},
		{"too late", func(r *listing.MemoryRequest[*metav1.ObjectMeta]) {
			r.Args.After, r.Now = cursor, now.Add(25*time.Hour)
		}, "after", apierror.CodeStaleCursor},
	} {
		r := request
		tt.change(&r)
		_, err := listing.Memory(r)
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != tt.want || e.Argument != tt.argument {
			t.Errorf("%s: got %v (%s); want %s of %s", tt.name, err, apierror.CodeOf(err), tt.want, tt.argument)
		}
	}
	request.Args = page.Args{First: new(2), After: cursor}
	if c, err := listing.Memory(request); err != nil || len(c.Nodes) != 1 {
		t.Errorf("a page of another size of the same list: %v, %v", c, err)
	}
}

// A client that pages through a list while objects are created and deleted gets all others exactly
// once, in order.
func TestMemoryPagesWhileObjectsComeAndGo(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		present, lasting := map[string]*metav1.ObjectMeta{}, map[string]bool{}
		for range 60 {
			o := object(fmt.Sprintf("o%03d", r.IntN(200)), r.IntN(4), nil)
			present[o.Name], lasting[o.Name] = o, true
		}
		order := index.Order{Field: []index.OrderField{index.OrderByName, index.OrderByCreation}[seed%2], Desc: seed/2%2 == 1}
		args := page.Args{First: new(1 + r.IntN(9))}
		var seen []*metav1.ObjectMeta
		for range 200 {
			var items []*metav1.ObjectMeta
			for _, o := range present {
				items = append(items, o)
			}
			c, err := listing.Memory(listing.MemoryRequest[*metav1.ObjectMeta]{Noun: "X", Match: all, Items: items, Order: order, Args: args, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, c.Nodes...)
			if !c.PageInfo.HasNextPage {
				break
			}
			if len(c.Nodes) != *args.First || *c.TotalCount != len(present) {
				t.Errorf("seed %d: %d of %d objects, %d counted of %d", seed, len(c.Nodes), *args.First, *c.TotalCount, len(present))
			}
			args.After = c.PageInfo.EndCursor
			for name := range present {
				if r.IntN(20) == 0 {
					delete(present, name)
					delete(lasting, name)
				}
			}
			for range r.IntN(4) {
				o := object(fmt.Sprintf("o%03d", r.IntN(200)), r.IntN(4), nil)
				if present[o.Name] == nil {
					present[o.Name] = o
				}
			}
		}
		checkSeen(t, fmt.Sprintf("seed %d", seed), order, seen, lasting)
	}
}

func checkSeen(t *testing.T, name string, order index.Order, seen []*metav1.ObjectMeta, lasting map[string]bool) {
	t.Helper()
	compare := func(a, b *metav1.ObjectMeta) int {
		c := strings.Compare(a.Name, b.Name)
		if order.Field == index.OrderByCreation {
			c = cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), c)
		}
		if order.Desc {
			c = -c
		}
		return c
	}
	if !slices.IsSortedFunc(seen, compare) {
		t.Errorf("%s: not in order: %v", name, namesOf(seen))
	}
	times := map[*metav1.ObjectMeta]int{}
	found := map[string]bool{}
	for _, o := range seen {
		found[o.Name] = true
		if times[o]++; times[o] > 1 { //nolint:gocritic // The count is the condition.
			t.Errorf("%s: %s came twice", name, o.Name)
		}
	}
	for o := range lasting {
		if !found[o] {
			t.Errorf("%s: %s was there all the time and was not seen", name, o)
		}
	}
	if len(lasting) == 0 {
		t.Errorf("%s: nothing was there all the time: the test shows nothing", name)
	}
}
