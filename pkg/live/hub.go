package live

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// Defaults of Options.
const (
	DefaultLinger      = 30 * time.Second
	DefaultSyncTimeout = 5 * time.Second
	DefaultMaxPending  = 10_000
	DefaultMaxSilence  = time.Minute
	DefaultHistory     = 10_000
)

// Options say what a Hub follows and how. Zero values mean the defaults.
type Options struct {
	// Clients reach the instances. Required.
	Clients instanceproxy.Clients
	// Global sends requests to the global cluster, as Kairship: the path and the query
	// of the URL count. Required.
	Global http.RoundTripper
	// Keys sign the cursors. Required.
	Keys consistency.Keys

	// Linger is how long a watch goes on without subscribers.
	Linger time.Duration
	// SyncTimeout is how long a stream waits for a source before it is SYNCED without it.
	SyncTimeout time.Duration
	// MaxPending is how many objects of one source may wait in one stream.
	MaxPending int
	// MaxSilence is how long a subscriber may not read though there is something to read.
	MaxSilence time.Duration
	// History is how many changes of a source are remembered.
	History int

	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Hub shares watches between subscribers.
type Hub struct{}

// New makes a Hub.
func New(Options) (*Hub, error) { return nil, errors.New("not built yet") }

// Subscribe begins a stream. It waits for nothing but the key of the cursor. The
// stream ends with ctx, or with Close. The error is INVALID for a cursor that is not
// one of the subscription's own.
func (h *Hub) Subscribe(context.Context, Subscription) (*Stream, error) {
	return nil, errors.New("not built yet")
}

// Stop ends all streams with ErrStopped and all watches. Subscribe fails from then on.
func (h *Hub) Stop() {}
