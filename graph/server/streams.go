package server

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// The transports of subscriptions, as logs and metrics name them.
const (
	viaSSE       = "sse"
	viaWebSocket = "websocket"
)

// Limits of streams when StreamLimits leaves them at zero.
const (
	DefaultMaxConnections          = 10_000
	DefaultMaxConnectionsPerUser   = 500
	DefaultMaxSubscriptions        = 20_000
	DefaultMaxSubscriptionsPerUser = 2_000
	DefaultMaxOperationsPerSocket  = 200
	DefaultMaxMessageBytes         = 256 << 10
	DefaultMessagesPerSecond       = 100
	DefaultStreamKeepAlive         = 15 * time.Second
	DefaultMaxNewcomers            = 400
	DefaultInitTimeout             = 3 * time.Second
	DefaultWriteTimeout            = 10 * time.Second
	DefaultMaxLife                 = time.Hour
	DefaultReconnectAfter          = 2 * time.Second
)

const (
	// lifeSpread: a connection lives up to a tenth shorter, so that those that began
	// together do not end together.
	lifeSpread = 10
	// drainStep is the pause after drainTogether connections were told to end.
	drainStep     = 5 * time.Millisecond
	drainTogether = 25
	// drainPoll is the time between two looks whether they have gone.
	drainPoll = 10 * time.Millisecond
)

// StreamLimits bounds connections that stay open: streams of server-sent events
// and WebSockets. Zero means the default.
type StreamLimits struct {
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
	// MaxNewcomers is how many WebSockets may be open whose callers are not known yet.
	MaxNewcomers int
	// InitTimeout is how long a WebSocket may take until it says who it is.
	InitTimeout time.Duration
	// WriteTimeout is how long a client may take to receive one message.
	WriteTimeout time.Duration
	// MaxLife is how long a connection may last. It then ends so that the client
	// connects again, to another replica perhaps.
	MaxLife time.Duration
	// ReconnectAfter is the pause that clients of server-sent events are told to
	// make before they connect again, on average.
	ReconnectAfter time.Duration
}

func (l *StreamLimits) setDefaults() {
	setDefault(&l.MaxConnections, DefaultMaxConnections)
	setDefault(&l.MaxConnectionsPerUser, DefaultMaxConnectionsPerUser)
	setDefault(&l.MaxSubscriptions, DefaultMaxSubscriptions)
	setDefault(&l.MaxSubscriptionsPerUser, DefaultMaxSubscriptionsPerUser)
	setDefault(&l.MaxOperationsPerSocket, DefaultMaxOperationsPerSocket)
	setDefault(&l.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&l.MessagesPerSecond, DefaultMessagesPerSecond)
	setDefault(&l.KeepAlive, DefaultStreamKeepAlive)
	setDefault(&l.MaxNewcomers, DefaultMaxNewcomers)
	setDefault(&l.InitTimeout, DefaultInitTimeout)
	setDefault(&l.WriteTimeout, DefaultWriteTimeout)
	setDefault(&l.MaxLife, DefaultMaxLife)
	setDefault(&l.ReconnectAfter, DefaultReconnectAfter)
}

// life is how long one connection may last.
func (l *StreamLimits) life() time.Duration {
	return l.MaxLife - rand.N(l.MaxLife/lifeSpread+1) //nolint:gosec // Guessing it gains nothing.
}

// reconnect is the pause that one client makes: clients that lost their server
// together must not come back together.
func (l *StreamLimits) reconnect() time.Duration {
	return l.ReconnectAfter/2 + rand.N(l.ReconnectAfter+1) //nolint:gosec // Guessing it gains nothing.
}

// streams is what the transports of subscriptions have in common: who has how
// many, how they are told to end, and the count of it all.
type streams struct {
	limits    StreamLimits
	newcomers *newcomers
	sentry    *authz.SessionChecker
	metrics   *streamMetrics
	results   results
	crew      *crew

	mu       sync.Mutex
	users    map[string]*usage
	total    usage
	open     map[*connection]struct{}
	draining bool
	// stopping is set when the process is about to stop, draining when nothing may
	// begin any longer.
	stopping atomic.Bool
}

// usage counts what a user has open.
type usage struct {
	connections, subscriptions int
}

// connection is something open that can be told to end.
type connection struct {
	// drain has it end once what it is doing is done, cut at once.
	drain, cut func()
}

func newStreams(cfg Config) *streams {
	return &streams{
		limits: cfg.Streams, newcomers: newNewcomers(cfg.Streams.MaxNewcomers), sentry: cfg.Sentry, metrics: newStreamMetrics(cfg.Registerer),
		users: map[string]*usage{}, open: map[*connection]struct{}{}, crew: newCrew(),
	}
}

// enter notes an open connection; false while the process stops. leave must be called in the end.
func (s *streams) enter(c *connection) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, false
	}
	s.open[c] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
	}, true
}

// connect counts a connection of a user.
func (s *streams) connect(via, user string) (leave func(), err *apierror.Error) {
	return s.count(via, user, streamLimit{
		what: "connections", gauge: s.metrics.connections, of: func(u *usage) *int { return &u.connections },
		total: s.limits.MaxConnections, own: s.limits.MaxConnectionsPerUser,
	})
}

// subscribe counts a subscription of a user.
func (s *streams) subscribe(via, user string) (leave func(), err *apierror.Error) {
	return s.count(via, user, streamLimit{
		what: "subscriptions", gauge: s.metrics.subscriptions, of: func(u *usage) *int { return &u.subscriptions },
		total: s.limits.MaxSubscriptions, own: s.limits.MaxSubscriptionsPerUser,
	})
}

// streamLimit is a limit of something.
type streamLimit struct {
	what       string
	gauge      *prometheus.GaugeVec
	of         func(*usage) *int
	total, own int
}

func (s *streams) count(via, user string, q streamLimit) (func(), *apierror.Error) {
	giveBack, err := s.take(user, q)
	if err != nil {
		s.metrics.refused.WithLabelValues(via, q.what).Inc()
		err.RetryAfter = retryAfterSeconds * time.Second
		return nil, err
	}
	gauge := q.gauge.WithLabelValues(via)
	gauge.Inc()
	return func() {
		gauge.Dec()
		giveBack()
	}, nil
}

func (s *streams) take(user string, q streamLimit) (func(), *apierror.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[user]
	if u == nil {
		u = &usage{}
	}
	total, own := q.of(&s.total), q.of(u)
	switch {
	case *own >= q.own:
		return nil, apierror.New(apierror.CodeRateLimited, "you have %d %s open, which is the limit: close some, or subscribe to several instances at once", *own, q.what)
	case *total >= q.total:
		return nil, apierror.New(apierror.CodeRateLimited, "the server has %d %s open, which is its limit: try again later", *total, q.what)
	}
	s.users[user] = u
	*total++
	*own++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*total--
		*own--
		if *u == (usage{}) && s.users[user] == u {
			delete(s.users, user)
		}
	}), nil
}

func (s *streams) isStopping() bool { return s.stopping.Load() }

// drain ends all connections, a few at a time, and waits until they have ended;
// those that are not gone when the context ends are cut off.
func (s *streams) drain(ctx context.Context) error {
	s.stopping.Store(true)
	s.mu.Lock()
	s.draining = true
	all := make([]*connection, 0, len(s.open))
	for c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	// Clients come back at once to where they can: not all in the same moment.
	for i, c := range all {
		go c.drain() // It may take a moment to say goodbye.
		if i%drainTogether == drainTogether-1 {
			time.Sleep(drainStep)
		}
	}
	for {
		s.mu.Lock()
		left := len(s.open)
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			s.cutAll()
			return ctx.Err()
		case <-time.After(drainPoll):
		}
	}
}

func (s *streams) cutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		go c.cut()
	}
}
