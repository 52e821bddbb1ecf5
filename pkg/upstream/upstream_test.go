package upstream_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/upstream"
)

func TestRecorder(t *testing.T) {
	ctx, r := upstream.With(t.Context())
	if upstream.From(ctx) != r || r.Began().IsZero() {
		t.Fatal("the context has another recorder")
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var err error
			if i%4 == 0 {
				err = errors.New("no answer")
			}
			r.Send(upstream.Target{Kind: upstream.Index})(err)
			r.Send(upstream.Target{Kind: upstream.Instance, Name: "beta"})(nil)
			r.Look(upstream.Rows, 2, 1)
		})
	}
	all.Wait()
	unanswered := upstream.Target{Kind: upstream.Instance, Name: "alpha"}
	r.Send(unanswered)
	r.Look(upstream.Members, 0, 0)
	want := []upstream.Use{
		{Target: upstream.Target{Kind: upstream.Index}, Requests: 20, Failed: 5},
		{Target: unanswered, Requests: 1},
		{Target: upstream.Target{Kind: upstream.Instance, Name: "beta"}, Requests: 20},
	}
	if d := cmp.Diff(want, r.Uses(), cmpopts.IgnoreFields(upstream.Use{}, "Total", "Longest")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := r.Requests(upstream.Instance); n != 21 {
		t.Errorf("%d requests to instances, want 21", n)
	}
	if d := cmp.Diff([]upstream.Lookups{{Cache: upstream.Rows, Hits: 40, Misses: 20}}, r.Caches()); d != "" {
		t.Errorf("a cache that was not used is not worth a line (-want +got):\n%s", d)
	}
}

func TestNobodyRecords(t *testing.T) {
	r := upstream.From(t.Context())
	r.Send(upstream.Target{Kind: upstream.Index})(nil)
	r.Look(upstream.Rows, 1, 1)
	if r != nil || r.Uses() != nil || r.Caches() != nil || r.Requests(upstream.Index) != 0 || !r.Began().IsZero() {
		t.Error("a context without a recorder has one")
	}
}
