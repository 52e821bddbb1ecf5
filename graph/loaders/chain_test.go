package loaders_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
)

// What depends on an object is promised before a caller gets the object, so no caller
// ever asks for something that is not on its way.
func TestThenRunsBeforeAnybodyGoesOn(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		var chained atomic.Bool
		goOn := make(chan struct{})
		r.Prefetch(ctx, []index.Key{deployment("binding")}, index.Whole, func(found map[index.Key]*index.Object) {
			if found[deployment("binding")] == nil {
				t.Error("what was found is not told")
			}
			<-goOn
			r.Prefetch(ctx, []index.Key{deployment("policy")}, index.Whole, func(map[index.Key]*index.Object) {
				r.PrefetchPods(ctx, []index.PodOwner{podOwner("policy", "shop")})
			})
			chained.Store(true)
		})
		done := make(chan struct{})
		var early atomic.Int64
		go func() {
			defer close(done)
			concurrently(30, func(int) {
				if _, err := r.Get(ctx, deployment("binding"), index.Whole); err != nil {
					t.Error(err)
				}
				if !chained.Load() {
					early.Add(1)
				}
				if _, err := r.Get(ctx, deployment("policy"), index.Whole); err != nil {
					t.Error(err)
				}
				if _, err := r.PodsOf(ctx, podOwner("policy", "shop")); err != nil {
					t.Error(err)
				}
			})
		}()
		synctest.Wait()
		close(goOn)
		<-done
		if early.Load() != 0 {
			t.Errorf("%d went on before what depends on the object was promised", early.Load())
		}
		want := []question{{[]string{"binding"}, index.Whole}, {[]string{"policy"}, index.Whole}}
		if diff := cmp.Diff(want, source.many); diff != "" || len(source.owners) != 1 {
			t.Errorf("%d questions about pods; objects (-want +got):\n%s", len(source.owners), diff)
		}
	})
}

// The callback of pages gets them by part.
func TestThenOfPages(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) { //nolint:revive // The shape is that of its siblings.
		parts := []index.Part{{Cluster: "k-a", Value: "x"}, {Cluster: "k-b"}, {Cluster: missing}}
		reported := make(chan map[index.Part]*index.Page, 1)
		r.PrefetchPages(ctx, parts, index.ListQuery{NameContains: "n"}, func(pages map[index.Part]*index.Page) { reported <- pages })
		pages := <-reported
		if len(pages) != 2 || pages[parts[0]].Items[0].Meta.Name != "nx" || pages[parts[1]].Items[0].Cluster != "k-b" {
			t.Errorf("told of %v", pages)
		}
	})
}

// Only what is left to read is read: keys that are on their way are not.
func TestPrefetchClaimsWhatIsLeft(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		if _, err := r.Get(ctx, deployment("a"), index.Whole); err != nil {
			t.Fatal(err)
		}
		var reported []string
		r.Prefetch(ctx, []index.Key{deployment("a"), deployment("b"), deployment("b")}, index.Whole, func(found map[index.Key]*index.Object) {
			for k := range found {
				reported = append(reported, k.Name)
			}
		})
		if _, err := r.Get(ctx, deployment("b"), index.Whole); err != nil {
			t.Fatal(err)
		}
		want := []question{{[]string{"a"}, index.Whole}, {[]string{"b"}, index.Whole}}
		if diff := cmp.Diff(want, source.many); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"b"}, reported); diff != "" {
			t.Errorf("told of (-want +got):\n%s", diff)
		}
	})
}

// An error is returned to all callers that wait for a key, not only to the first.
func TestFailuresReachEveryKey(t *testing.T) {
	away := apierror.New(apierror.CodeIndexUnavailable, "The index does not answer")
	for _, tt := range []struct {
		name   string
		before func(context.Context) error
		want   string
	}{
		{"an error", func(context.Context) error { return away }, "The index does not answer"},
		{"a panic", func(context.Context) error { panic("a nil map") }, "a nil map"},
	} {
		for _, prefetched := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
					source.before = tt.before
					var keys []index.Key
					var owners []index.PodOwner
					var parts []index.Part
					for i := range 30 {
						name := fmt.Sprintf("w%d", i)
						keys, owners, parts = append(keys, deployment(name)), append(owners, podOwner(types.UID(name), "shop")), append(parts, index.Part{Cluster: name})
					}
					then := func() { t.Error("there is nothing to go on with") }
					if prefetched {
						r.Prefetch(ctx, keys, index.Whole, func(map[index.Key]*index.Object) { then() })
						r.PrefetchPages(ctx, parts, index.ListQuery{}, func(map[index.Part]*index.Page) { then() })
						r.PrefetchPods(ctx, owners)
					}
					var failed atomic.Int64
					concurrently(30, func(i int) {
						_, err := r.Get(ctx, keys[i], index.Whole)
						_, pageErr := r.PageOf(ctx, parts[i], index.ListQuery{})
						_, podsErr := r.PodsOf(ctx, owners[i])
						for _, err := range []error{err, pageErr, podsErr} {
							if err != nil && strings.Contains(err.Error(), tt.want) {
								failed.Add(1)
							}
						}
					})
					if failed.Load() != 90 {
						t.Errorf("%d of 90 were told of the failure", failed.Load())
					}
				})
			})
		}
	}
}

// A panic in a callback of a prefetch is returned as an error to the callers that wait for its
// objects, because the callback may not have started the reads that they rely on.
func TestPanicInThen(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, _ *fakeSource) {
		r.Prefetch(ctx, []index.Key{deployment("a")}, index.Whole, func(map[index.Key]*index.Object) { panic("a bug") })
		if _, err := r.Get(ctx, deployment("a"), index.Whole); err == nil || apierror.CodeOf(err) != apierror.CodeInternal {
			t.Errorf("got %v, want an internal error", err)
		}
	})
}

// When the operation ends, what it reads ends too: nothing is left over.
func TestTheOperationEnds(t *testing.T) {
	operation(t, func(t *testing.T, ctx context.Context, r loaders.Reader, source *fakeSource) {
		source.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel := context.WithCancel(ctx)
		r.Prefetch(ctx, []index.Key{deployment("nobody waits for this")}, index.Whole, nil)
		r.Prefetch(ctx, []index.Key{deployment("a")}, index.Known, nil)
		done := make(chan error)
		go func() { _, err := r.Get(ctx, deployment("a"), index.Known); done <- err }()
		go func() { _, err := r.Get(ctx, deployment("b"), index.Known); done <- err }()
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		}
	})
}

var _ loaders.Source = (*fakeSource)(nil)
