package subscription

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/workerpool"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// The transports of subscriptions, as logs and metrics name them.
const (
	ViaSSE       = "sse"
	ViaWebSocket = "websocket"
	ViaRPC       = "grpc"
)

// Defaults of Limits.
const (
	DefaultMaxConnections               = 10_000
	DefaultMaxConnectionsPerUser        = 500
	DefaultMaxSubscriptions             = 20_000
	DefaultMaxSubscriptionsPerUser      = 2_000
	defaultMaxOperationsPerSocket       = 200
	defaultMaxMessageBytes              = 256 << 10
	defaultMessagesPerSecond            = 100
	DefaultKeepAlive                    = 15 * time.Second
	DefaultMaxUnauthenticatedWebSockets = 400
	DefaultInitTimeout                  = 3 * time.Second
	defaultWriteTimeout                 = 10 * time.Second
	DefaultMaxLife                      = time.Hour
	defaultReconnectAfter               = 2 * time.Second
)

// RetryAfter is when a user with too many open streams may try again.
const RetryAfter = 5 * time.Second

const (
	// lifeSpread is the fraction by which the lifetime of a connection is shortened at random, so
	// that connections that began at the same time do not end at the same time.
	lifeSpread = 10
	// drainStep is the pause after drainTogether connections have begun to end.
	drainStep     = 5 * time.Millisecond
	drainTogether = 25
	// drainPoll is the time between two looks whether they have ended.
	drainPoll = 10 * time.Millisecond
)

// Limits bounds connections that stay open: streams of server-sent events
// and WebSockets. Zero means the default.
type Limits struct {
	// MaxConnections and MaxConnectionsPerUser count open connections.
	MaxConnections, MaxConnectionsPerUser int
	// MaxSubscriptions and MaxSubscriptionsPerUser count subscriptions on all of them.
	MaxSubscriptions, MaxSubscriptionsPerUser int
	// MaxOperationsPerSocket is how many operations one WebSocket has under way at a time.
	MaxOperationsPerSocket int
	// MaxMessageBytes is the size of the largest message that is read from a WebSocket.
	MaxMessageBytes int64
	// MessagesPerSecond is how fast the messages of one WebSocket are read; it may
	// send four times as many in one go.
	MessagesPerSecond int
	// KeepAlive is the longest silence on a connection.
	KeepAlive time.Duration
	// MaxUnauthenticatedWebSockets is how many WebSockets may be open whose callers are not
	// known yet.
	MaxUnauthenticatedWebSockets int
	// InitTimeout is how long a WebSocket may take to authenticate.
	InitTimeout time.Duration
	// WriteTimeout is how long a client may take to receive one message.
	WriteTimeout time.Duration
	// MaxLife is how long a connection may last. It then ends so that the client
	// connects again, to another replica perhaps.
	MaxLife time.Duration
	// ReconnectAfter is the pause that clients of server-sent events are to make
	// before they connect again, on average.
	ReconnectAfter time.Duration
}

// SetDefaults sets the limits that are zero or less.
func (l *Limits) SetDefaults() {
	limit.SetDefault(&l.MaxConnections, DefaultMaxConnections)
	limit.SetDefault(&l.MaxConnectionsPerUser, DefaultMaxConnectionsPerUser)
	limit.SetDefault(&l.MaxSubscriptions, DefaultMaxSubscriptions)
	limit.SetDefault(&l.MaxSubscriptionsPerUser, DefaultMaxSubscriptionsPerUser)
	limit.SetDefault(&l.MaxOperationsPerSocket, defaultMaxOperationsPerSocket)
	limit.SetDefault(&l.MaxMessageBytes, defaultMaxMessageBytes)
	limit.SetDefault(&l.MessagesPerSecond, defaultMessagesPerSecond)
	limit.SetDefault(&l.KeepAlive, DefaultKeepAlive)
	limit.SetDefault(&l.MaxUnauthenticatedWebSockets, DefaultMaxUnauthenticatedWebSockets)
	limit.SetDefault(&l.InitTimeout, DefaultInitTimeout)
	limit.SetDefault(&l.WriteTimeout, defaultWriteTimeout)
	limit.SetDefault(&l.MaxLife, DefaultMaxLife)
	limit.SetDefault(&l.ReconnectAfter, defaultReconnectAfter)
}

// Life returns how long one connection may last.
func (l *Limits) Life() time.Duration {
	return l.MaxLife - rand.N(l.MaxLife/lifeSpread+1) //nolint:gosec // Guessing it gains nothing.
}

// Reconnect returns the pause of one client before it reconnects: clients that lost their server at
// the same time must not all come back at once.
func (l *Limits) Reconnect() time.Duration {
	return l.ReconnectAfter/2 + rand.N(l.ReconnectAfter+1) //nolint:gosec // Guessing it gains nothing.
}

// Manager has what the transports of subscriptions share: how many connections and
// subscriptions each user has open, how they end, and their metrics.
type Manager struct {
	Limits Limits
	// Sessions checks the callers of connections and subscriptions while they last; nil for
	// their beginning alone.
	Sessions *authz.SessionChecker
	metrics  *metrics
	results  results
	workers  *workerpool.Pool

	mu       sync.Mutex
	users    map[string]*usage
	total    usage
	open     map[*Connection]struct{}
	draining bool
	// stopping is set when the process is about to stop, draining when nothing may
	// begin any longer.
	stopping atomic.Bool
}

// usage counts what a user has open.
type usage struct {
	connections, subscriptions int
}

// Connection is an open connection that can be ended.
type Connection struct {
	// Drain ends it once what it is doing is done, Cut at once.
	Drain, Cut func()
}

// New returns a manager without connections. The limits have their defaults already.
func New(limits Limits, sessions *authz.SessionChecker, registerer prometheus.Registerer) *Manager {
	return &Manager{
		Limits: limits, Sessions: sessions, metrics: newMetrics(registerer),
		users: map[string]*usage{}, open: map[*Connection]struct{}{}, workers: workerpool.New(),
	}
}

// Enter registers an open connection; it returns false while the process stops. The caller must
// call leave in the end.
func (m *Manager) Enter(c *Connection) (leave func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining {
		return nil, false
	}
	m.open[c] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.open, c)
	}, true
}

// Connect counts a connection of a user.
func (m *Manager) Connect(via, user string) (leave func(), err *apierror.Error) {
	return m.count(via, user, streamLimit{
		what: "connections", gauge: m.metrics.connections, of: func(u *usage) *int { return &u.connections },
		total: m.Limits.MaxConnections, own: m.Limits.MaxConnectionsPerUser,
	})
}

// subscribe counts a subscription of a user.
func (m *Manager) subscribe(via, user string) (leave func(), err *apierror.Error) {
	return m.count(via, user, streamLimit{
		what: "subscriptions", gauge: m.metrics.subscriptions, of: func(u *usage) *int { return &u.subscriptions },
		total: m.Limits.MaxSubscriptions, own: m.Limits.MaxSubscriptionsPerUser,
	})
}

// streamLimit is a limit of something.
type streamLimit struct {
	what       string
	gauge      *prometheus.GaugeVec
	of         func(*usage) *int
	total, own int
}

// Refused counts what a limit of a transport refused.
func (m *Manager) Refused(via, reason string) { m.metrics.refused.WithLabelValues(via, reason).Inc() }

func (m *Manager) count(via, user string, q streamLimit) (func(), *apierror.Error) {
	giveBack, err := m.take(user, q)
	if err != nil {
		m.Refused(via, q.what)
		err.RetryAfter = RetryAfter
		return nil, err
	}
	gauge := q.gauge.WithLabelValues(via)
	gauge.Inc()
	return func() {
		gauge.Dec()
		giveBack()
	}, nil
}

func (m *Manager) take(user string, q streamLimit) (func(), *apierror.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.users[user]
	if u == nil {
		u = &usage{}
	}
	total, own := q.of(&m.total), q.of(u)
	switch {
	case *own >= q.own:
		return nil, apierror.New(apierror.CodeRateLimited, "you have %d %s open, which is the limit: close some, or subscribe to several instances at once", *own, q.what)
	case *total >= q.total:
		return nil, apierror.New(apierror.CodeRateLimited, "the server has %d %s open, which is its limit: try again later", *total, q.what)
	}
	m.users[user] = u
	*total++
	*own++
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		*total--
		*own--
		if *u == (usage{}) && m.users[user] == u {
			delete(m.users, user)
		}
	}), nil
}

// IsStopping reports whether the process is about to stop.
func (m *Manager) IsStopping() bool { return m.stopping.Load() }

// Stop has IsStopping return true. Everything is served as before.
func (m *Manager) Stop() { m.stopping.Store(true) }

// Drain ends all connections, a few at a time, and waits until they have ended;
// those that are open when the context ends are cut off.
func (m *Manager) Drain(ctx context.Context) error {
	m.stopping.Store(true)
	m.mu.Lock()
	m.draining = true
	all := make([]*Connection, 0, len(m.open))
	for c := range m.open {
		all = append(all, c)
	}
	m.mu.Unlock()
	// Clients come back at once to where they can: not all in the same moment.
	for i, c := range all {
		go c.Drain() // It sends an end, which may take a moment.
		if i%drainTogether == drainTogether-1 {
			time.Sleep(drainStep)
		}
	}
	for {
		m.mu.Lock()
		left := len(m.open)
		m.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			m.cutAll()
			return ctx.Err()
		case <-time.After(drainPoll):
		}
	}
}

func (m *Manager) cutAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.open {
		go c.Cut()
	}
}
