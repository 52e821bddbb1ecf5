package membercluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// lister is an index that keeps what was asked: the clusters of each question.
type lister struct {
	membercluster.Lister
	mu     sync.Mutex
	asked  []string
	before func() error
}

func (l *lister) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	l.mu.Lock()
	l.asked = append(l.asked, strings.Join(q.Clusters, ","))
	before := l.before
	l.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if l.Lister == nil {
		return &index.Page{}, nil
	}
	return l.Lister.List(ctx, q)
}

func member(cluster, name string) indextest.Row {
	return indextest.Row{
		Cluster: cluster, Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters", Kind: "Cluster", Name: name, CreatedAt: time.Unix(0, 0),
		Body: map[string]any{"spec": map[string]any{"region": name + "-region"}},
	}
}

// indexed makes a Cache over an index with these members.
func indexed(t *testing.T, rows ...indextest.Row) (*lister, *membercluster.Cache) {
	t.Helper()
	client, err := index.New(index.Config{REST: &rest.Config{Host: indextest.New(t, rows...).URL}})
	if err != nil {
		t.Fatal(err)
	}
	l := &lister{Lister: client}
	return l, membercluster.NewCache(l, time.Now)
}

func regions(members map[string]map[string]*clusterv1alpha1.Cluster) map[string][]string {
	out := map[string][]string{}
	for instance, of := range members {
		out[instance] = []string{}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			out[instance] = append(out[instance], name+" in "+of[name].Spec.Region)
		}
	}
	return out
}

func TestCacheReadsAllInstancesTogether(t *testing.T) {
	l, cache := indexed(t, member("k-alpha", "m1"), member("k-alpha", "m2"), member("k-beta", "m1"), member("k-gamma", "m9"))
	got, err := cache.Members(t.Context(), "beta", "alpha", "empty", "alpha")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"alpha": {"m1 in m1-region", "m2 in m2-region"}, "beta": {"m1 in m1-region"}, "empty": {}}
	if diff := cmp.Diff(want, regions(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got["alpha"]["m1"] == got["beta"]["m1"] {
		t.Error("two instances share a member")
	}
	if diff := cmp.Diff([]string{"k-alpha,k-beta,k-empty"}, l.asked); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	if _, err := cache.Members(t.Context(), "alpha", "gamma"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"k-alpha,k-beta,k-empty", "k-gamma"}, l.asked); diff != "" {
		t.Errorf("what is known is not asked again (-want +got):\n%s", diff)
	}
}

// An instance may have more members than a page holds.
func TestCacheReadsAllPages(t *testing.T) {
	var rows []indextest.Row
	for i := range 1203 {
		rows = append(rows, member([]string{"k-alpha", "k-beta"}[i%2], fmt.Sprintf("m%04d", i)))
	}
	l, cache := indexed(t, rows...)
	got, err := cache.Members(t.Context(), "alpha", "beta")
	if err != nil {
		t.Fatal(err)
	}
	if len(got["alpha"]) != 602 || len(got["beta"]) != 601 || len(l.asked) != 3 {
		t.Errorf("%d and %d members in %d requests, want 602 and 601 in 3", len(got["alpha"]), len(got["beta"]), len(l.asked))
	}
}

// The members are remembered for two seconds, and not a moment longer.
func TestCacheForgets(t *testing.T) {
	l, now := &lister{}, time.Unix(0, 0)
	cache := membercluster.NewCache(l, func() time.Time { return now })
	for _, tt := range []struct {
		later time.Duration
		want  int
		why   string
	}{
		{0, 1, "nothing is known"},
		{2*time.Second - time.Millisecond, 1, "it is not two seconds old"},
		{time.Millisecond, 2, "it is two seconds old"},
		{0, 2, "it is new"},
		{time.Hour, 3, "it was forgotten long ago"},
	} {
		now = now.Add(tt.later)
		if _, err := cache.Members(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		if len(l.asked) != tt.want {
			t.Errorf("%s later: %d questions, want %d: %s", tt.later, len(l.asked), tt.want, tt.why)
		}
	}
}

// Callers that ask during a read wait for it, and only what is not being read is read.
func TestCacheSharesWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		l := &lister{before: func() error { <-answer; return nil }}
		cache := membercluster.NewCache(l, time.Now)
		var wg sync.WaitGroup
		ask := func(instances ...string) {
			wg.Go(func() {
				got, err := cache.Members(t.Context(), instances...)
				if err != nil || len(got) != len(instances) {
					t.Errorf("%v: %v, %v", instances, got, err)
				}
			})
			synctest.Wait()
		}
		ask("alpha", "beta")
		for range 20 {
			ask("beta", "alpha")
		}
		ask("alpha", "gamma")
		close(answer)
		wg.Wait()
		if diff := cmp.Diff([]string{"k-alpha,k-beta", "k-gamma"}, l.asked); diff != "" {
			t.Errorf("questions (-want +got):\n%s", diff)
		}
	})
}

// An error is returned to all callers that wait for it, and the next caller reads again.
func TestCacheForgetsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := apierror.New(apierror.CodeIndexUnavailable, "The index does not answer")
		answer := make(chan struct{})
		l := &lister{before: func() error { <-answer; return away }}
		cache := membercluster.NewCache(l, time.Now)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := cache.Members(t.Context(), "alpha", "beta"); !errors.Is(err, away) {
					t.Errorf("got %v, want %v", err, away)
				}
			})
		}
		synctest.Wait()
		close(answer)
		wg.Wait()
		l.before = nil
		if _, err := cache.Members(t.Context(), "beta"); err != nil {
			t.Errorf("the failure was remembered: %v", err)
		}
		if diff := cmp.Diff([]string{"k-alpha,k-beta", "k-beta"}, l.asked); diff != "" {
			t.Errorf("questions (-want +got):\n%s", diff)
		}
	})
}

// A caller whose context ends returns at once, and the read goes on for the callers that wait.
func TestCacheAndThoseWhoGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		l := &lister{before: func() error { <-answer; return nil }}
		cache := membercluster.NewCache(l, time.Now)
		reading, giveUp := context.WithCancel(t.Context())
		waiting, giveUpToo := context.WithTimeout(t.Context(), time.Second)
		defer giveUpToo()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = cache.Members(reading, "alpha") })
		synctest.Wait()
		wg.Go(func() {
			if _, err := cache.Members(waiting, "alpha"); apierror.CodeOf(err) != apierror.CodeTimeout {
				t.Errorf("who could wait for a second only: got %v, want %s", err, apierror.CodeTimeout)
			}
		})
		wg.Go(func() {
			if _, err := cache.Members(t.Context(), "alpha"); err != nil {
				t.Errorf("who waits: %v", err)
			}
		})
		synctest.Wait()
		giveUp()
		<-waiting.Done()
		synctest.Wait()
		close(answer)
		wg.Wait()
		if len(l.asked) != 1 {
			t.Errorf("%d questions, want 1", len(l.asked))
		}
	})
}

// One operation reads the members in one request, even if each instance is requested separately
// afterwards, while the read is in progress or when its result has expired.
func TestCacheIsReadOnceInAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lister{before: func() error { time.Sleep(100 * time.Millisecond); return nil }}
		cache := membercluster.NewCache(l, time.Now)
		operation := func(after time.Duration, want ...string) {
			t.Helper()
			ctx, _ := requeststats.With(t.Context())
			l.asked = nil
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := cache.Members(ctx, "alpha", "beta"); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			time.Sleep(after)
			for _, name := range []string{"alpha", "beta"} {
				wg.Go(func() {
					if _, err := cache.Members(ctx, name); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if diff := cmp.Diff(want, l.asked); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
		}
		operation(0, "k-alpha,k-beta") // On their way.
		time.Sleep(1800 * time.Millisecond)
		operation(time.Second) // Good enough at first, too old when they are asked for.
		operation(time.Second, "k-alpha,k-beta")
		time.Sleep(time.Minute)
		operation(0, "k-alpha,k-beta")
	})
}

// What lasts for long does not get to see old members for as long.
func TestCacheInALongOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lister{}
		cache := membercluster.NewCache(l, time.Now)
		ctx, _ := requeststats.With(t.Context())
		for range 60 {
			if _, err := cache.Members(ctx, "alpha"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := len(l.asked); n < 5 || n > 30 {
			t.Errorf("%d questions in a minute, want at least one in twelve seconds and at most one in two", n)
		}
	})
}

// A panic while members are read is returned as an error to the callers that wait, and does not end
// the process.
func TestCacheSurvivesAPanic(t *testing.T) {
	l := &lister{before: func() error { panic("a nil map") }}
	cache := membercluster.NewCache(l, time.Now)
	if _, err := cache.Members(t.Context(), "alpha"); err == nil || apierror.CodeOf(err) != apierror.CodeInternal {
		t.Errorf("got %v, want an internal error", err)
	}
}
