package requeststats_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/requeststats"
)

func TestRecorder(t *testing.T) {
	ctx, r := requeststats.With(t.Context())
	if requeststats.From(ctx) != r || r.Began().IsZero() {
		t.Fatal("the context has another recorder")
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var err error
			if i%4 == 0 {
				err = errors.New("no answer")
			}
			r.Send(requeststats.Target{Kind: requeststats.Index})(err)
			r.Send(requeststats.Target{Kind: requeststats.Instance, Name: "beta"})(nil)
			r.Look(requeststats.Rows, 2, 1)
		})
	}
	all.Wait()
	unanswered := requeststats.Target{Kind: requeststats.Instance, Name: "alpha"}
	r.Send(unanswered)
	r.Look(requeststats.Members, 0, 0)
	want := []requeststats.Use{
		{Target: requeststats.Target{Kind: requeststats.Index}, Requests: 20, Failed: 5},
		{Target: unanswered, Requests: 1},
		{Target: requeststats.Target{Kind: requeststats.Instance, Name: "beta"}, Requests: 20},
	}
	if d := cmp.Diff(want, r.Uses(), cmpopts.IgnoreFields(requeststats.Use{}, "Total", "Longest")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := r.Requests(requeststats.Instance); n != 21 {
		t.Errorf("%d requests to instances, want 21", n)
	}
	if d := cmp.Diff([]requeststats.Lookups{{Cache: requeststats.Rows, Hits: 40, Misses: 20}}, r.Caches()); d != "" {
		t.Errorf("a cache that was not used is not worth a line (-want +got):\n%s", d)
	}
}

func TestContextWithoutRecorder(t *testing.T) {
	r := requeststats.From(t.Context())
	r.Send(requeststats.Target{Kind: requeststats.Index})(nil)
	r.Look(requeststats.Rows, 1, 1)
	if r != nil || r.Uses() != nil || r.Caches() != nil || r.Requests(requeststats.Index) != 0 || !r.Began().IsZero() {
		t.Error("a context without a recorder has one")
	}
}
