package preview

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

// number is a setting of the test, a whole number.
func number(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestPreviewsAreWhatKarmadaDoes previews changes of generated policies, makes all of them, and compares every
// binding and claim with its preview. KAIRSHIP_PREVIEWS is how many, over six member clusters, in a fleet of which
// nothing is used afterwards; KAIRSHIP_PREVIEWS_SEED repeats some.
func TestPreviewsAreWhatKarmadaDoes(t *testing.T) {
	n, long := number(t, "KAIRSHIP_PREVIEWS", 30), os.Getenv("KAIRSHIP_PREVIEWS") != ""
	s := newScene(t)
	clusters := []string{"m1", "m2"}
	if long {
		clusters = append(clusters, s.aliases(t)...)
	} else {
		t.Cleanup(func() { s.remove(t) })
	}
	for i, name := range clusters {
		s.tier(t, name, []string{"a", "b"}[i%2])
	}
	all := cases(int64(number(t, "KAIRSHIP_PREVIEWS_SEED", 1)), n, s.namespace, clusters)
	s.createAll(t, all, func(c *change) []client.Object { return c.templates })
	// The policy that is changed claims first; the others get what it leaves.
	s.createAll(t, all, func(c *change) []client.Object {
		if c.before == nil {
			return c.policies
		}
		return []client.Object{c.before}
	})
	s.scheduled(t)
	s.createAll(t, all, func(c *change) []client.Object { return c.policies })
	before := s.scheduled(t)

	begin := time.Now()
	var mu sync.Mutex
	want, of := maps.Clone(before), map[string]string{}
	each(t, all, func(c *change) error {
		var p *preview
		// The index lags.
		err := poll.Try(t.Context(), within, func(ctx context.Context) (err error) {
			if p, err = s.ask(ctx, t, c); err != nil {
				return err
			}
			for i := range p.Items {
				if item := &p.Items[i]; item.before() != before[item.Kind+" "+item.Name] {
					return fmt.Errorf("the preview begins with %+v, and it is %+v", item.before(), before[item.Kind+" "+item.Name])
				}
			}
			if len(p.Items) == 0 && c.what != "a higher priority" {
				return fmt.Errorf("the preview is empty")
			}
			return nil
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range p.Items {
			key := p.Items[i].Kind + " " + p.Items[i].Name
			want[key] = p.Items[i].after()
			of[key] = fmt.Sprintf("%s (%s): %s", c.name, c.what, p.Items[i].Effect)
		}
		return nil
	})
	t.Logf("%d previews took %s", n, time.Since(begin))

	each(t, all, func(c *change) error { return s.make(t.Context(), c) })
	var after map[string]state
	_ = poll.Try(t.Context(), within, func(ctx context.Context) (err error) {
		if after, err = s.states(ctx); err == nil && !same(after, want) {
			err = fmt.Errorf("not yet")
		}
		return err
	})
	after = s.scheduled(t)
	changed := 0
	for key := range want {
		if after[key] != want[key] {
			t.Errorf("%s of %s: from %+v to %+v, and the preview said %+v", key, of[key], before[key], after[key], want[key])
		}
		if after[key] != before[key] {
			changed++
		}
	}
	if changed < n/4 {
		t.Errorf("the changes had an effect on %d objects only: the cases are too narrow", changed)
	}
	t.Logf("%d of %d objects changed", changed, len(want))
	if long {
		s.lose(t, clusters[len(clusters)-1])
	}
}
