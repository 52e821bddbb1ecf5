package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	ten := make([]time.Duration, 10)
	for i := range ten {
		ten[i] = time.Duration(10 - i)
	}
	for _, tt := range []struct {
		values  []time.Duration
		percent int
		want    time.Duration
		why     string
	}{
		{ten, 50, 5, "half of them are not above it"},
		{ten, 95, 10, "nine are 90 percent, so it takes the tenth"},
		{ten, 90, 9, "nine are 90 percent"},
		{ten[:1], 99, 10, "one value is every percentile"},
		{ten, 0, 1, "there is no value before the first"},
	} {
		if got := percentile(tt.values, tt.percent); got != tt.want {
			t.Errorf("p%d of %v is %d, want %d: %s", tt.percent, tt.values, got, tt.want, tt.why)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		before := slices.Clone(tt.values)
		if got := median(tt.values); got != tt.want {
			t.Errorf("the median of %v is %v, want %v", before, got, tt.want)
		}
		if diff := cmp.Diff(before, tt.values); diff != "" {
			t.Errorf("the rounds are reported in their order, and it changed:\n%s", diff)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		target target
		ratio  float64
		want   bool
	}{
		{target{atMost: 1.2}, 1.2, true}, {target{atMost: 1.2}, 1.21, false},
		{target{throughput: true, atLeast: 1}, 1, true}, {target{throughput: true, atLeast: 1}, 0.99, false},
	} {
		if got := tt.target.met(tt.ratio); got != tt.want {
			t.Errorf("%s at %.2f: met is %v", tt.target, tt.ratio, got)
		}
	}
}

// TestLoadIsTheSameForBothSides: two loads of one seed ask for the same places,
// so that neither side gets the cheaper ones.
func TestLoadIsTheSameForBothSides(t *testing.T) {
	among := make([]pick, 100)
	for i := range among {
		among[i].offset = i
	}
	const clients, each = 3, 50
	run := func(seed uint64) []int {
		var mu sync.Mutex
		var asked []int
		l := load{clients: clients, duration: time.Hour, maxOps: clients * each, seed: seed, among: among}
		l.run = func(_ context.Context, p pick) error {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, p.offset)
			return nil
		}
		if _, err := l.do(t.Context()); err != nil {
			t.Fatal(err)
		}
		return asked
	}
	if n := len(run(1)); n != clients*each {
		t.Errorf("%d operations, want %d: they are bounded together", n, clients*each)
	}
	// Who comes first is up to the scheduler; one client alone has one order.
	sequence := func(seed uint64) []int {
		random := rand.New(rand.NewPCG(seed, 0))
		out := make([]int, 5)
		for i := range out {
			out[i] = random.IntN(len(among))
		}
		return out
	}
	var asked []int
	l := load{clients: 1, duration: time.Hour, maxOps: 5, seed: 7, among: among, run: func(_ context.Context, p pick) error {
		asked = append(asked, p.offset)
		return nil
	}}
	if _, err := l.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sequence(7), asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoadEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	l := load{clients: 4, duration: time.Hour, maxOps: 1 << 30, among: []pick{{}}, run: func(context.Context, pick) error { return broken }}
	if _, err := l.do(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the operation", err)
	}
}
