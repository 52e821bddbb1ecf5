// Package controlleroptions makes the options that all controllers have in common: the number
// of workers, the backoff after failures, and the work queue. Each controller has a default
// for its workers; an administrator may set them for one controller, and the backoff for all.
package controlleroptions

import (
	"cmp"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The first and the longest pause after failures. Users often remove an external cause and then
// wait, so the longest one is short.
const (
	DefaultFirstPause   = 500 * time.Millisecond
	DefaultLongestPause = time.Minute
)

// Limits are an administrator's settings; the zero value means the controllers' defaults.
type Limits struct {
	// Workers are how many objects a controller works on at the same time, by the
	// controller's name.
	Workers map[string]int
	// FirstPause and LongestPause are those after the first and after many failures
	// with the same object.
	FirstPause, LongestPause time.Duration
}

// limited is a manager that knows the limits of its controllers.
type limited struct {
	ctrl.Manager
	chosen Limits
}

// Limit gives controllers that are set up with a manager limits.
func Limit(mgr ctrl.Manager, chosen Limits) ctrl.Manager { return limited{mgr, chosen} }

// Options are those of a controller that without them would work on so many objects
// at the same time.
//
// Its watches begin before this replica leads, so that the next leader knows
// everything already and has every object in its queue.
func Options(mgr ctrl.Manager, name string, workers int) controller.Options {
	chosen := Limits{}
	if l, ok := mgr.(limited); ok {
		chosen = l.chosen
	}
	return controller.Options{
		MaxConcurrentReconciles: cmp.Or(chosen.Workers[name], workers),
		RateLimiter:             chosen.backoff(),
		EnableWarmup:            new(true),
		NewQueue:                newQueue,
	}
}

// backoff makes the pauses between attempts that fail longer and longer, for each
// object separately.
func (l Limits) backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
		cmp.Or(l.FirstPause, DefaultFirstPause), cmp.Or(l.LongestPause, DefaultLongestPause))
}
