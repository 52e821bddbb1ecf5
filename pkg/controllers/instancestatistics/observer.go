package instancestatistics

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

const (
	// debounceInterval is how long changes are coalesced: a rollout changes many objects at once.
	debounceInterval = 500 * time.Millisecond
	// patience is how long the first lists of all kinds may take; kinds that are missing then are
	// left out. It is also how long a watch may be missing before the figures count as stale:
	// connections break, and watches are renewed.
	patience = 30 * time.Second
)

// observer watches one instance through one connection.
type observer struct {
	conn     *connections.Conn
	stores   []*store
	patience time.Duration

	end     context.CancelFunc
	running sync.WaitGroup

	mu sync.Mutex
	// begun is when it got a slot; zero before.
	begun time.Time
	timer *time.Timer
	ended bool
	tell  func()
}

// start begins to watch once there is a slot, which it keeps until all kinds were listed or
// refused. It calls tell after changes, and failed for every request that failed.
func start(conn *connections.Conn, slots chan struct{}, patience time.Duration, watches *atomic.Int64, tell func(), failed func()) (*observer, error) {
	ctx, end := context.WithCancel(conn.Context())
	o := &observer{conn: conn, end: end, tell: tell, patience: patience}
	var reflectors []*cache.Reflector
	clients := map[schema.GroupVersion]rest.Interface{}
	for _, s := range sources {
		client := clients[s.version]
		if client == nil {
			made, err := newClient(conn, s.version)
			if err != nil {
				end()
				return nil, fmt.Errorf("watch %s: %w", conn.To.Endpoint, err)
			}
			client, clients[s.version] = made, made
		}
		kept := &store{source: s, changed: o.changed, patience: patience}
		o.stores = append(o.stores, kept)
		reflectors = append(reflectors, cache.NewReflectorWithOptions(listWatch(client, kept, failed), &item{}, kept,
			cache.ReflectorOptions{Name: Name, TypeDescription: s.kind}))
	}
	// The status of the instance reports failures; each of the watches would log one.
	ctx = klog.NewContext(ctx, logr.Discard())
	o.running.Go(func() {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		o.begin()
		for _, reflector := range reflectors {
			o.running.Go(func() {
				watches.Add(1)
				defer watches.Add(-1)
				reflector.RunWithContext(ctx)
			})
		}
		o.await(ctx)
		<-slots
	})
	return o, nil
}

// await waits until everything is known that will be, or patience ends.
func (o *observer) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	tick := time.NewTicker(debounceInterval / 5)
	defer tick.Stop()
	for !o.complete() {
		select {
		case <-ctx.Done():
			o.changed()
			return
		case <-tick.C:
		}
	}
}

// complete reports whether every kind is known, or known to be missing.
func (o *observer) complete() bool {
	for _, s := range o.stores {
		if !s.tried() {
			return false
		}
	}
	return true
}

// known reports whether the figures can be believed: all of them, or those that came in
// time, the members among them. Members that may not be read are not none.
func (o *observer) known() bool {
	return o.stores[0].listed() && (o.complete() || o.late())
}

func (o *observer) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = time.Now()
}

// late reports whether everything has had the time to come.
func (o *observer) late() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.begun.IsZero() && time.Since(o.begun) > o.patience
}

// stale is since when the figures are old; zero while they are not.
func (o *observer) stale() (since time.Time) {
	for _, s := range o.stores {
		if one := s.stale(); !one.IsZero() && (since.IsZero() || one.Before(since)) {
			since = one
		}
	}
	return since
}

// figures are what is known now.
func (o *observer) figures() figures {
	f := figures{}
	for _, s := range o.stores {
		if entries := s.entries(); entries != nil {
			f[s.source.kind] = entries
		}
	}
	return f
}

// changed calls tell after the debounce interval, once for all changes until then.
func (o *observer) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil || o.ended {
		return
	}
	o.timer = time.AfterFunc(debounceInterval, func() {
		o.mu.Lock()
		o.timer = nil
		ended := o.ended
		o.mu.Unlock()
		if !ended {
			o.tell()
		}
	})
}

// stop ends all watches and returns when none is left.
func (o *observer) stop() {
	o.mu.Lock()
	o.ended = true
	if o.timer != nil {
		o.timer.Stop()
	}
	o.mu.Unlock()
	o.end()
	o.running.Wait()
}

func newClient(conn *connections.Conn, version schema.GroupVersion) (rest.Interface, error) {
	config := conn.RESTConfig()
	config.APIPath, config.GroupVersion = "/apis", &version
	config.NegotiatedSerializer = codecs.WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, conn.HTTP)
}

// listWatch lists and watches one kind. Only it sees what goes wrong:
// reflectors try again automatically.
func listWatch(client rest.Interface, kept *store, failed func()) *cache.ListWatch {
	judge := func(ctx context.Context, err error) error {
		switch {
		case err == nil, ctx.Err() != nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err), apierrors.IsInvalid(err):
		case apierrors.IsTooManyRequests(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
			// It answers, and has too much to do: a look now would be one thing more.
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			kept.deny()
		default:
			failed()
		}
		return err
	}
	request := func(options *metav1.ListOptions) *rest.Request {
		return client.Get().Resource(kept.source.resource).VersionedParams(options, metav1.ParameterCodec)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			kept.ask()
			list := &itemList{}
			err := request(&options).Do(ctx).Into(list)
			return list, judge(ctx, err)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			kept.ask()
			options.Watch = true
			watching, err := request(&options).Watch(ctx)
			if err == nil {
				kept.opened()
			}
			return watching, judge(ctx, err)
		},
	}
}
