package instanceproxy

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

// target is what an instance is reached by now: a link, or the reason why there
// is none.
type target struct {
	link    *link
	problem error
	// replaced is closed when there is another target.
	replaced chan struct{}
}

// instance is the client of one Instance object, from its first use until it goes.
type instance struct {
	name    string
	uid     types.UID
	options Options
	metrics *instanceMetrics
	logger  *slog.Logger
	limit   *rate.Limiter
	clients
	kinds *discoveryCache

	// target is nil until the Secret was read for the first time.
	target atomic.Pointer[target]
	// known is closed then.
	known chan struct{}

	life context.Context //nolint:containedctx // It is the client's own lifetime, not a request's.
	end  context.CancelFunc

	// mu guards what follows, and orders the replacements of the target.
	mu           sync.Mutex
	source       *v1alpha1.SecretKeyReference
	follower     *secretFollower
	stopFollower context.CancelFunc
}

func newInstance(name string, uid types.UID, options Options, m *metrics) (*instance, error) {
	i := &instance{
		name: name, uid: uid, options: options,
		metrics: m.of(name),
		logger:  options.Logger.With("instance", name),
		limit:   rate.NewLimiter(rate.Limit(options.QPS), options.Burst),
		known:   make(chan struct{}),
	}
	i.life, i.end = context.WithCancel(context.Background())
	var err error
	if i.clients, err = newClients(name, options.UserAgent, i); err != nil {
		return nil, err
	}
	i.kinds = newDiscoveryCache(i.life, i.clients.discovery, options.DiscoveryAge)
	return i, nil
}

// observe takes the credentials from where the Instance says, and none while they lead
// to a control plane that is not its own. It is called with every change of the
// Instance, most of which do not concern it.
func (i *instance) follow(described *v1alpha1.Instance) {
	ref, problem := described.CredentialsRef(), connection.ErrMissing
	if described.NotItsOwn() != nil {
		ref, problem = nil, errNotItsOwn
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.life.Err() != nil {
		return
	}
	if ref == nil {
		i.unfollow()
		i.source = nil
		i.replace(nil, problem)
		return
	}
	if i.source != nil && *i.source == *ref {
		return
	}
	i.unfollow()
	source := *ref
	i.source = &source
	ctx, stop := context.WithCancel(i.life)
	i.stopFollower = stop
	follower := newSecretFollower(i.options.Secrets, ref.NamespacedName(), func(data map[string][]byte, found bool, err error) {
		i.learned(ctx, source, data, found, err)
	})
	i.follower = follower
	go follower.run(ctx)
}

// unfollow is called with the lock held. A follower that is on its way out may
// still have something to say; learned does not listen then.
func (i *instance) unfollow() {
	if i.stopFollower != nil {
		i.stopFollower()
		i.follower, i.stopFollower = nil, nil
	}
}

// learned takes over what a Secret says.
func (i *instance) learned(ctx context.Context, source v1alpha1.SecretKeyReference, data map[string][]byte, found bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ctx.Err() != nil {
		return // The Instance names another Secret by now, or no longer exists.
	}
	if err != nil {
		// That the global cluster is away says nothing about the instance: what was
		// known goes on.
		i.logger.Warn("the credentials of the instance cannot be read now", "error", err)
		if i.target.Load() == nil {
			i.replace(nil, err)
		}
		return
	}
	if !found {
		i.replace(nil, connection.ErrMissing)
		return
	}
	c, err := connection.Parse(data, connection.Source{KubeconfigKey: source.Key})
	if err != nil {
		i.replace(nil, err)
		return
	}
	if now := i.target.Load(); now != nil && now.link != nil && now.link.fingerprint == c.Fingerprint() {
		return
	}
	made, err := newLink(c, i.options, i.breakerChanged)
	i.replace(made, err)
}

// replace is called with the lock held. From its return on, new requests take
// the new link, and the old one ends with what is in flight.
func (i *instance) replace(made *link, problem error) {
	if problem != nil {
		made = nil
	}
	before := i.target.Load()
	if before != nil && before.link == nil && made == nil {
		if before.problem.Error() == problem.Error() {
			return
		}
	}
	i.target.Store(&target{link: made, problem: problem, replaced: make(chan struct{})})
	if before == nil {
		close(i.known)
	} else {
		close(before.replaced)
		if before.link != nil {
			before.link.retire(i.options.DrainTimeout)
			if made == nil || before.link.endpoint.String() != made.endpoint.String() {
				i.kinds.forget() // Another apiserver may serve other kinds.
			}
			i.metrics.replaced()
		}
	}
	if made != nil {
		i.logger.Info("the instance has a connection", "credentialsExpire", made.expire)
	} else {
		i.logger.Warn("the instance has no connection", "error", problem)
	}
}

func (i *instance) breakerChanged(open bool) {
	if open {
		i.logger.Warn("the instance does not answer; requests to it fail at once until it does")
	} else {
		i.logger.Info("the instance answers")
	}
}

// close ends everything. It does not wait.
func (i *instance) close() {
	i.mu.Lock()
	i.end()
	i.unfollow()
	now := i.target.Load()
	i.mu.Unlock()
	if now != nil && now.link != nil {
		now.link.close()
	}
}

// Health implements Client.
func (i *instance) Health() Health {
	now := i.target.Load()
	switch {
	case now == nil:
		return Health{Reason: "its credentials are being read"}
	case now.link == nil:
		return Health{Reason: uncredentialed(i.name, now.problem).Error()}
	case now.link.breaker.open():
		return Health{Reason: silent(i.name, nil).Error(), CredentialsExpire: now.link.expire}
	}
	return Health{Available: true, CredentialsExpire: now.link.expire}
}

// expire is when the credentials end; zero when that is not known.
func (i *instance) expire() time.Time {
	if now := i.target.Load(); now != nil && now.link != nil {
		return now.link.expire
	}
	return time.Time{}
}

// Instance implements Client.
func (i *instance) Instance() string { return i.name }

// Transport implements Client.
func (i *instance) Transport() http.RoundTripper { return i }
