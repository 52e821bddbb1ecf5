package loaders_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// operation runs a test within one operation, with a fake clock, so that timing does not depend on
// the load of the machine. It fails when a goroutine is left that waits forever. Two that wait for
// the same key must have it prefetched: the clock does not see goroutines that wait for a lock, as
// those of dataloader do.
func operation(t *testing.T, run func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		run(t, loaders.With(t.Context(), source), loaders.NewReader(source), source)
	})
}

// concurrently runs f n times concurrently.
func concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// What is asked for at once is asked in one question, and everybody gets what
// they asked for.
func TestLoadsShareOneRequest(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		concurrently(100, func(i int) {
			name := fmt.Sprintf("w%03d", i)
			o, err := r.Get(ctx, deployment(name), index.Whole)
			if err != nil || o.Meta.Name != name {
				t.Errorf("asked for %s, got %v, %v", name, o, err)
			}
		})
		var want []string
		for i := range 100 {
			want = append(want, fmt.Sprintf("w%03d", i))
		}
		if o, err := r.Get(ctx, deployment("w042"), index.Whole); err != nil || o.Meta.Name != "w042" {
			t.Errorf("asked again, got %v, %v", o, err)
		}
		if diff := cmp.Diff([]question{{want, index.Whole}}, source.many); diff != "" {
			t.Errorf("questions (-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsMissing(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, _ *fakeSource) {
		for _, detail := range []index.Detail{index.Whole, index.Known, index.Metadata} {
			for _, prefetched := range []bool{false, true} {
				k := index.Key{Cluster: fmt.Sprint(detail, prefetched), Type: index.Deployments, Namespace: "shop", Name: missing}
				if prefetched {
					r.Prefetch(ctx, []index.Key{k}, detail, nil)
				}
				_, err := r.Get(ctx, k, detail)
				if !apierror.Is(err, apierror.CodeNotFound) || err.Error() != `Deployment "shop/missing" was not found` {
					t.Errorf("detail %d, prefetched %v: got %v", detail, prefetched, err)
				}
			}
		}
		if _, err := r.Get(ctx, index.Key{Type: index.Namespaces, Name: missing}, index.Whole); err == nil || err.Error() != `Namespace "missing" was not found` {
			t.Errorf("an object without namespace is named without: got %v", err)
		}
		if pods, err := r.PodsOf(ctx, podOwner(missing, "shop")); err != nil || len(pods) != 0 {
			t.Errorf("no pods are no error: %v, %v", pods, err)
		}
		if _, err := r.PageOf(ctx, index.Part{Cluster: missing}, index.ListQuery{}); !apierror.Is(err, apierror.CodeIndexUnavailable) {
			t.Errorf("a page is never missing: got %v", err)
		}
	})
}

// What was prefetched is asked for once, however many ask for it meanwhile and after.
func TestPrefetchedKeysCostOneRequest(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		answer := make(chan struct{})
		source.before = func(context.Context) error { <-answer; return nil }
		keys := []index.Key{deployment("a"), deployment("b"), deployment("c")}
		r.Prefetch(ctx, append(keys, keys...), index.Known, nil) // A key twice is one key.
		r.Prefetch(ctx, keys, index.Known, func(map[index.Key]*index.Object) { t.Error("nothing was left to read") })
		r.PrefetchPages(ctx, []index.Part{{Cluster: "k-a"}, {Cluster: "k-b"}}, index.ListQuery{Limit: 5}, nil)
		r.PrefetchPods(ctx, []index.PodOwner{podOwner("x", "shop"), podOwner("y", "ops"), podOwner("z", "shop")})
		var got atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			concurrently(50, func(i int) {
				o, err := r.Get(ctx, keys[i%3], index.Known)
				page, pageErr := r.PageOf(ctx, index.Part{Cluster: "k-b"}, index.ListQuery{Limit: 5, Clusters: []string{"ignored"}})
				pods, podsErr := r.PodsOf(ctx, podOwner("y", "ops"))
				if err := errors.Join(err, pageErr, podsErr); err != nil {
					t.Error(err)
					return
				}
				if o.Meta.Name != keys[i%3].Name || page.Items[0].Cluster != "k-b" || pods[0].Meta.Name != "pod-of-y" {
					t.Errorf("got %s, %v, %v", o.Meta.Name, page, pods)
				}
				got.Add(1)
			})
		}()
		synctest.Wait() // All wait for the answer.
		if got.Load() != 0 {
			t.Error("a caller went on without an answer")
		}
		close(answer)
		<-done
		if got.Load() != 50 {
			t.Errorf("%d of 50 got what they asked for", got.Load())
		}
		if _, err := r.Get(ctx, keys[0], index.Known); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]question{{[]string{"a", "b", "c"}, index.Known}}, source.many); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{" 5 [k-a k-b]"}, source.parts); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		want := [][]index.PodOwner{{podOwner("x", "shop"), podOwner("y", "ops"), podOwner("z", "shop")}}
		if diff := cmp.Diff(want, source.owners); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
	})
}

// Whole pods that are on their way do for less of them.
func TestPodsOfLess(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		whole := podOwner("y", "ops")
		less := whole
		less.Detail = index.Metadata
		r.PrefetchPods(ctx, []index.PodOwner{whole})
		for range 2 {
			if pods, err := r.PodsOf(ctx, less); err != nil || len(pods) != 1 {
				t.Fatalf("got %v, %v", pods, err)
			}
		}
		if diff := cmp.Diff([][]index.PodOwner{{whole}}, source.owners); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Each page belongs to its query and its part.
func TestPagesAreKeptApart(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		one, err := index.ParseSelector("app=one")
		if err != nil {
			t.Fatal(err)
		}
		queries := []index.ListQuery{{NameContains: "a"}, {NameContains: "b"}, {NameContains: "a", Selector: one}, {NameContains: "a", After: &index.Position{Name: "x"}}}
		parts := []index.Part{{Cluster: "k-a"}, {Cluster: "k-b"}, {Cluster: "k-a", Value: "v"}}
		concurrently(len(queries)*len(parts), func(i int) {
			q, part := queries[i%len(queries)], parts[i/len(queries)]
			page, err := r.PageOf(ctx, part, q)
			if err != nil || page.Items[0].Cluster != part.Cluster || page.Items[0].Meta.Name != q.NameContains+part.Value {
				t.Errorf("%+v of %+v: %v, %v", q, part, page, err)
			}
		})
		slices.Sort(source.parts)
		want := []string{"a 0 [k-a k-av k-b]", "a 0 [k-a k-av k-b]", "a 0 [k-a k-av k-b]", "b 0 [k-a k-av k-b]"}
		if diff := cmp.Diff(want, source.parts); diff != "" {
			t.Errorf("one question for each query (-want +got):\n%s", diff)
		}
	})
}

// More of an object is as good as less; less is another object.
func TestDetails(t *testing.T) {
	for _, tt := range []struct {
		name      string
		first     index.Detail
		second    index.Detail
		questions int
		why       string
	}{
		{"the same", index.Known, index.Known, 1, "it is there"},
		{"less", index.Whole, index.Metadata, 1, "the whole object has its metadata"},
		{"a little less", index.Known, index.Metadata, 1, "what is known has its metadata"},
		{"more", index.Metadata, index.Whole, 2, "metadata is no object"},
		{"a little more", index.Known, index.Whole, 2, "what the index knows is not all"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
				for _, detail := range []index.Detail{tt.first, tt.second} {
					if _, err := r.Get(ctx, deployment("a"), detail); err != nil {
						t.Fatal(err)
					}
				}
				if len(source.many) != tt.questions {
					t.Errorf("%d questions, want %d: %s", len(source.many), tt.questions, tt.why)
				}
			})
		})
	}
}

// One user may see what another may not, so operations share nothing.
func TestOperationsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		r := loaders.NewReader(source)
		first, second := loaders.With(t.Context(), source), loaders.With(t.Context(), source)
		r.Prefetch(first, []index.Key{deployment("a")}, index.Whole, nil)
		objects := map[*index.Object]bool{}
		for i, ctx := range []context.Context{first, second, first, t.Context(), t.Context()} {
			o, err := r.Get(ctx, deployment("a"), index.Whole)
			if err != nil {
				t.Fatal(err)
			}
			objects[o] = true
			if want := []int{1, 2, 2, 3, 4}[i]; len(source.many) != want {
				t.Errorf("read %d: %d questions, want %d", i, len(source.many), want)
			}
		}
		if len(objects) != 4 {
			t.Errorf("%d objects, want one for each operation and for each read outside of one", len(objects))
		}
	})
}

// Lists over several clusters are asked for as they are.
func TestListGoesStraight(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		for range 2 {
			if _, err := r.List(ctx, index.ListQuery{Limit: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if source.listed != 2 {
			t.Errorf("%d lists, want 2", source.listed)
		}
	})
}

// Whatever meets whatever, everybody gets what they asked for.
func TestLoadsAndPrefetchesAtOnce(t *testing.T) {
	source := &fakeSource{}
	ctx, r := loaders.With(t.Context(), source), loaders.NewReader(source)
	concurrently(300, func(i int) {
		name := fmt.Sprintf("w%d", i%17)
		if i%5 == 0 {
			r.Prefetch(ctx, []index.Key{deployment(name), deployment("w1"), deployment("w2")}, index.Known, nil)
		}
		o, err := r.Get(ctx, deployment(name), index.Detail(i%3))
		if err != nil || o.Meta.Name != name {
			t.Errorf("asked for %s, got %v, %v", name, o, err)
		}
	})
	// What was read ahead may still be on its way when no caller waits for it.
	source.mu.Lock()
	defer source.mu.Unlock()
	asked := map[string]int{}
	for _, q := range source.many {
		for _, name := range q.Names {
			asked[fmt.Sprint(name, q.Detail)]++
		}
	}
	if len(asked) < 17 || len(source.many) > 17*3+300/5 {
		t.Errorf("%d questions about %d objects", len(source.many), len(asked))
	}
}
