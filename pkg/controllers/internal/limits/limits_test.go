package limits_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/controllers/internal/limits"
)

func TestOptions(t *testing.T) {
	chosen := limits.Limit(nil, limits.Limits{Workers: map[string]int{"named": 3}, FirstPause: time.Second, LongestPause: 3 * time.Second})
	for _, c := range []struct {
		reason  string
		options controller.Options
		workers int
		pauses  []time.Duration
	}{
		{"nobody chose anything", limits.Options(nil, "named", 16), 16, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{"a controller that was named", limits.Options(chosen, "named", 16), 3, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"one that was not", limits.Options(chosen, "other", 16), 16, []time.Duration{time.Second}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if c.options.MaxConcurrentReconciles != c.workers {
				t.Errorf("%d workers, want %d", c.options.MaxConcurrentReconciles, c.workers)
			}
			if c.options.EnableWarmup == nil || !*c.options.EnableWarmup {
				t.Error("it does not watch before it leads")
			}
			for i, want := range c.pauses {
				if got := c.options.RateLimiter.When(reconcile.Request{}); got != want {
					t.Errorf("pause %d is %s, want %s", i, got, want)
				}
			}
		})
	}
}
