package instanceproxy

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/connection"
)

// Defaults of Options.
const (
	DefaultQPS           = 5000
	DefaultBurst         = 10000
	DefaultDialTimeout   = 5 * time.Second
	DefaultHeaderTimeout = 35 * time.Second
	DefaultPingAfter     = 5 * time.Second
	DefaultDrainTimeout  = 10 * time.Minute
	DefaultFailures      = 5
	DefaultRetryInterval = time.Second
	defaultDiscoveryAge  = 10 * time.Minute
)

// Inventory is the part of a cache.Cache that is needed.
type Inventory interface {
	Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error
	GetInformer(ctx context.Context, object client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Options say how instances are found and reached. Zero values mean the defaults.
type Options struct {
	// Instances caches the global cluster's Instances; a cache.Cache is one. Required.
	// It must be started by its creator.
	Instances Inventory
	// Secrets reads the Secrets that Instances refer to, in whatever namespace they
	// are. get and watch are enough, for these names alone. Required.
	Secrets corev1client.SecretsGetter

	// QPS and Burst limit the requests of all users to one instance: a protection, well above what
	// an API server can answer.
	QPS   float32
	Burst int
	// DialTimeout bounds connecting, and the TLS handshake after it.
	DialTimeout time.Duration
	// HeaderTimeout bounds the wait for the beginning of an answer. It is above the
	// 30 seconds that an admission webhook of the instance may take.
	HeaderTimeout time.Duration
	// PingAfter is how long a connection may be silent before it is pinged, and how
	// long the pong may take. Hence a server that hangs is found after twice that.
	PingAfter time.Duration
	// DrainTimeout is how long requests may go on over a connection that was replaced.
	DrainTimeout time.Duration
	// Failures is how many requests in a row have to fail until the breaker opens.
	Failures int
	// Addresses are those that endpoints may have; nil for all.
	Addresses *connection.Addresses
	// RetryInterval is the time between two probes of an instance that does not answer.
	RetryInterval time.Duration
	// DiscoveryAge is how old a remembered discovery may be.
	DiscoveryAge time.Duration

	// UserAgent of what Kairship sends on its own and for mutations.
	UserAgent string
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	orElse(&o.QPS, DefaultQPS)
	orElse(&o.Burst, DefaultBurst)
	orElse(&o.DialTimeout, DefaultDialTimeout)
	orElse(&o.HeaderTimeout, DefaultHeaderTimeout)
	orElse(&o.PingAfter, DefaultPingAfter)
	orElse(&o.DrainTimeout, DefaultDrainTimeout)
	orElse(&o.Failures, DefaultFailures)
	orElse(&o.RetryInterval, DefaultRetryInterval)
	orElse(&o.DiscoveryAge, defaultDiscoveryAge)
	orElse(&o.UserAgent, "kairship")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orElse[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
