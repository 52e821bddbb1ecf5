package controlleroptions_test

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kairship-io/kairship/pkg/controllers/internal/controlleroptions"
)

func TestOptions(t *testing.T) {
	chosen := controlleroptions.Limit(nil, controlleroptions.Limits{Workers: map[string]int{"named": 3}, FirstPause: time.Second, LongestPause: 3 * time.Second})
	for _, c := range []struct {
		reason  string
		options controller.Options
		workers int
		pauses  []time.Duration
	}{
		{"nothing was chosen", controlleroptions.Options(nil, "named", 16), 16, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		{"a controller that was named", controlleroptions.Options(chosen, "named", 16), 3, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}},
		{"one that was not", controlleroptions.Options(chosen, "other", 16), 16, []time.Duration{time.Second}},
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

// TestWorkersEnd stops controllers in the middle of their work: each of their workers
// ends, or the next leader would wait for it.
func TestWorkersEnd(t *testing.T) {
	const rounds, workers = 100, 16
	for round := range rounds {
		options := controlleroptions.Options(nil, "ends", workers)
		options.SkipNameValidation = new(true)
		var looks atomic.Int32
		options.Reconciler = reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			looks.Add(1)
			return reconcile.Result{}, nil
		})
		ends, err := controller.NewUnmanaged("ends", options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := ends.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			for range workers {
				go func() {
					for i := 0; i < 2000 && ctx.Err() == nil; i++ {
						queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
					}
				}()
			}
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- ends.Start(ctx) }()
		for looks.Load() < 100 {
			runtime.Gosched()
		}
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("its workers have not ended, the %d. time", round+1)
		}
	}
}
