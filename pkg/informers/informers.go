// Package informers makes informers that reconnect to the global cluster soon after an outage.
package informers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// askAgainAfter is the time between two attempts to list or watch while the
// global cluster does not let us.
const askAgainAfter = time.Second

// Persistent makes the informers of one process on the global cluster.
//
// client-go waits longer after each attempt that failed, up to a minute. After
// an outage the global cluster would be back, and for that minute the process
// would go by Instances, Clusters and the state of collection as they were
// before. So failed attempts are repeated beneath client-go, which never learns
// of them: a handful of small requests a second at most, to a server that has to
// serve them anyway when it is back.
type Persistent struct {
	// Logger receives a message when a watch is interrupted and when it resumes. Required.
	Logger *slog.Logger
	// Lost is called whenever a watch is found to be interrupted; nil for none.
	Lost func()
	// failing is how many lists and watches are being repeated now.
	failing atomic.Int32
}

// Following reports whether none of the watches is known to have been lost.
func (p *Persistent) Following() bool { return p.failing.Load() == 0 }

// New makes an informer as client-go does, but one that hears of the global
// cluster within a second of its return. It is a cache.Options.NewInformer of
// controller-runtime.
func (p *Persistent) New(
	source toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(p.persistent(toolscache.ToListerWatcherWithContext(source), fmt.Sprintf("%T", of)), of, resync, indexers)
}

// persistent does not give up listing and watching.
func (p *Persistent) persistent(source toolscache.ListerWatcherWithContext, what string) *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return persist(ctx, p, what, func() (runtime.Object, error) { return source.ListWithContext(ctx, options) })
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return persist(ctx, p, what, func() (watch.Interface, error) { return source.WatchWithContext(ctx, options) })
		},
	}
}

// persist asks until there is an answer, or a refusal that asking again will not change.
func persist[T any](ctx context.Context, p *Persistent, what string, ask func() (T, error)) (T, error) {
	answer, err := ask()
	if err == nil || !passes(err) || ctx.Err() != nil {
		return answer, err
	}
	begun := time.Now()
	p.failing.Add(1)
	defer p.failing.Add(-1)
	if p.Lost != nil {
		p.Lost()
	}
	p.Logger.WarnContext(ctx, "the watch on the global cluster is interrupted; trying again every second", "of", what, "error", err)
	again := time.NewTicker(askAgainAfter)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return answer, err
		case <-again.C:
		}
		if answer, err = ask(); err == nil || !passes(err) {
			p.Logger.InfoContext(ctx, "the watch on the global cluster goes on", "of", what, "after", time.Since(begun).Round(time.Millisecond).String())
			return answer, err
		}
	}
}

// passes reports whether a failure may be over when the same is asked again: the
// global cluster did not answer, or it is starting. While it starts, it refuses
// everybody's identity and permissions, and does not know custom resources.
// Everything else is about the request, and client-go changes that.
func passes(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false // The server's history is another one. client-go lists anew.
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return true
	}
	switch code := status.ErrStatus.Code; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
