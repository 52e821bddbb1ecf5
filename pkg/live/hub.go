package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// Defaults of Options.
const (
	DefaultIdleTimeout = 30 * time.Second
	defaultSyncTimeout = 5 * time.Second
	defaultMaxPending  = 10_000
	defaultMaxSilence  = time.Minute
	defaultHistory     = 5_000
)

// Options say what a Hub follows and how. Zero values mean the defaults.
type Options struct {
	// Clients reach the instances. Required.
	Clients instanceproxy.Clients
	// Global sends requests to the global cluster, as Kairship: the path and the query
	// of the URL count (see GlobalTransport). Required.
	Global http.RoundTripper
	// Keys sign the cursors. Required.
	Keys consistency.Keys

	// IdleTimeout is how long a watch goes on without subscribers.
	IdleTimeout time.Duration
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

func (o Options) withDefaults() Options {
	o.IdleTimeout = orDefault(o.IdleTimeout, DefaultIdleTimeout)
	o.SyncTimeout = orDefault(o.SyncTimeout, defaultSyncTimeout)
	o.MaxPending = orDefault(o.MaxPending, defaultMaxPending)
	o.MaxSilence = orDefault(o.MaxSilence, defaultMaxSilence)
	o.History = orDefault(o.History, defaultHistory)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Hub shares watches between subscribers.
type Hub struct {
	options Options
	metrics *metrics
	labels  bounded
	// dial makes the upstream of a source. It sends nothing.
	dial func(Source) upstream
	// life ends all watches.
	life context.Context //nolint:containedctx // It is the hub's own lifetime.
	end  context.CancelFunc
	work work

	mu      sync.Mutex
	feeds   map[Source]*feed
	views   map[string]*view
	streams map[*Stream]struct{}
	stopped bool
}

// New makes a Hub. It watches nothing until the first subscription.
func New(options Options) (*Hub, error) {
	if options.Clients == nil || options.Global == nil {
		return nil, errors.New("live: Options need Clients and Global")
	}
	h, err := newHub(options)
	if err != nil {
		return nil, err
	}
	h.dial = h.remote
	return h, nil
}

func newHub(options Options) (*Hub, error) {
	if options.Keys == nil {
		return nil, errors.New("live: Options need Keys")
	}
	h := &Hub{
		options: options.withDefaults(), labels: bounded{limit: maxResourceLabels},
		feeds: map[Source]*feed{}, views: map[string]*view{}, streams: map[*Stream]struct{}{},
	}
	h.metrics = newMetrics(h)
	if options.Registerer != nil {
		if err := options.Registerer.Register(h.metrics); err != nil {
			return nil, fmt.Errorf("register the metrics of the live path: %w", err)
		}
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.work.begin(h.watchReaders)
	return h, nil
}

// remote is the upstream of a source over HTTP.
func (h *Hub) remote(s Source) upstream {
	reach := func(ctx context.Context) (http.RoundTripper, error) {
		if s.Instance == "" {
			return h.options.Global, nil
		}
		client, err := h.options.Clients.Get(ctx, s.Instance)
		if err != nil {
			return nil, err
		}
		return client.Transport(), nil
	}
	return &remote{decoder: decoder{source: s, now: time.Now}, reach: reach}
}

// Subscribe begins a stream. It waits for nothing but the key of cursors. The
// stream ends with ctx, or with Close. The error is INVALID for a cursor that is not
// one of the subscription's own, and errStopped once the hub was stopped.
func (h *Hub) Subscribe(ctx context.Context, subscription Subscription) (*Stream, error) {
	if err := check(subscription.Interests); err != nil {
		return nil, err
	}
	key, err := h.options.Keys.Key(ctx)
	if err != nil {
		return nil, unreadable(err)
	}
	s := &Stream{
		hub: h, seal: newSealer(key, subscription.Identity), maxPending: orDefault(subscription.MaxPending, h.options.MaxPending),
		knownWrites: subscription.KnownWrites, notify: subscription.Wake, open: subscription.Open,
	}
	if s.notify == nil {
		s.wake = make(chan struct{}, 1)
	}
	from, lost, err := s.seal.open(ctx, h.options.Keys, subscription.After)
	if err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(h.options.SyncTimeout, s.giveUp)
	s.unhook = func() bool { return true }
	if !h.remember(s) {
		s.end(errStopped)
		return nil, errStopped
	}
	if !lost && orphaned(from, subscription.Interests) {
		// The subscriber must drop the objects of sources that were removed, and it can only drop
		// all at once.
		from = nil
		h.metrics.gaps.WithLabelValues("sources").Inc()
		s.deliverAll(Event{Type: Gap})
	}
	for i := range subscription.Interests {
		interest := &subscription.Interests[i]
		at, known := from[newPartID(viewKey(interest))]
		resume := at.position
		if lost || (known && at.scope != scopeOf(interest.Scope)) {
			resume = elsewhere
		}
		if err := s.add(interest, resume); err != nil { //nolint:contextcheck // A watch outlives who began it.
			s.end(err)
			return nil, err
		}
	}
	if len(subscription.Interests) == 0 {
		s.synced = true
		s.deliverAll(Event{Type: Synced})
	}
	unhook := context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })
	s.mu.Lock()
	s.unhook = unhook
	ended := s.err
	s.mu.Unlock()
	if ended != nil {
		unhook()
	}
	return s, nil
}

// orphaned reports whether a cursor has sources that are followed no longer.
func orphaned(from map[partID]place, interests []Interest) bool {
	left := len(from)
	for i := range interests {
		if _, known := from[newPartID(viewKey(&interests[i]))]; known {
			left--
		}
	}
	return left > 0
}

// check makes sure that interests can be followed together.
func check(interests []Interest) error {
	known := map[Source]bool{}
	for i := range interests {
		s := interests[i].Source
		if known[s] {
			return fmt.Errorf("live: %s is followed twice in one stream", s)
		}
		known[s] = true
		if j := interests[i].Join; j != nil {
			for k := range j.With {
				if j.With[k].Source.Instance != s.Instance {
					return fmt.Errorf("live: %s is joined with another instance's %s", s, j.With[k].Source)
				}
			}
		}
	}
	return nil
}

func (h *Hub) remember(s *Stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return false
	}
	h.streams[s] = struct{}{}
	return true
}

func (h *Hub) forget(s *Stream, reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.streams[s]; known {
		delete(h.streams, s)
		h.metrics.ended.WithLabelValues(reasonOf(reason)).Inc()
	}
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, errSlow):
		return "slow"
	case errors.Is(err, errStopped):
		return "stopped"
	case errors.Is(err, errClosed), errors.Is(err, context.Canceled):
		return "closed"
	case apierror.Is(err, apierror.CodeNotFound):
		return "gone"
	}
	return "other"
}

// viewKey identifies the view of an interest.
func viewKey(i *Interest) string {
	var b strings.Builder
	source := func(s Source) {
		for _, part := range []string{s.Instance, s.Resource.Group, s.Resource.Version, s.Resource.Resource} {
			b.WriteString(part + "\x00")
		}
		if s.MetadataOnly {
			b.WriteString("metadata\x00")
		}
	}
	source(i.Source)
	if i.Join != nil {
		b.WriteString(i.Join.ID + "\x00")
		for k := range i.Join.With {
			source(i.Join.With[k].Source)
		}
	}
	return b.String()
}

func compareSources(a, b Source) int {
	for _, c := range []int{
		strings.Compare(a.Instance, b.Instance), strings.Compare(a.Resource.Group, b.Resource.Group),
		strings.Compare(a.Resource.Version, b.Resource.Version), strings.Compare(a.Resource.Resource, b.Resource.Resource),
		strings.Compare(strconv.FormatBool(a.MetadataOnly), strconv.FormatBool(b.MetadataOnly)),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// acquire finds or makes the view of an interest, and keeps it until release.
func (h *Hub) acquire(interest *Interest) (*view, error) {
	key := viewKey(interest)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, errStopped
	}
	if v := h.views[key]; v != nil && !v.isGone() {
		v.users++
		if v.stopIdle != nil {
			v.stopIdle()
			v.stopIdle = nil
		}
		return v, nil
	}
	v := h.newView(key, interest)
	h.views[key] = v
	for _, in := range v.feedsInOrder() {
		in.mu.Lock()
		in.attach(v)
		in.mu.Unlock()
	}
	return v, nil
}

// newView is called with the lock held.
func (h *Hub) newView(key string, interest *Interest) *view {
	sources := []Source{interest.Source}
	v := &view{key: key, users: 1, metrics: h.metrics, parts: map[*part]struct{}{}}
	if interest.Join != nil {
		for i := range interest.Join.With {
			sources = append(sources, interest.Join.With[i].Source)
		}
		v.joiner = newJoiner(interest.Join)
	}
	for _, s := range sources {
		v.inputs = append(v.inputs, &input{feed: h.feed(s)})
	}
	v.problems = make([]error, len(v.inputs))
	return v
}

// feed is called with the lock held.
func (h *Hub) feed(s Source) *feed {
	if f := h.feeds[s]; f != nil && !f.isGone() {
		f.users++
		return f
	}
	f := newFeed(s, h.dial(s), h.options.History, h.metrics, h.options.Logger)
	f.users = 1
	h.feeds[s] = f
	ctx, stop := context.WithCancel(h.life)
	f.stop = stop
	h.work.begin(func() { f.run(ctx) })
	return f
}

// release ends one use of a view. An unused view runs on for Options.IdleTimeout, because the
// subscriber may reconnect and others may come.
func (h *Hub) release(v *view) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v.users--
	if v.users > 0 {
		return
	}
	v.stopIdle = time.AfterFunc(h.options.IdleTimeout, func() { h.drop(v) }).Stop
}

// drop ends a view that no subscriber has come back to.
func (h *Hub) drop(v *view) {
	h.mu.Lock()
	if v.users > 0 || v.stopIdle == nil {
		h.mu.Unlock()
		return
	}
	v.stopIdle = nil
	if h.views[v.key] == v {
		delete(h.views, v.key)
	}
	feeds := v.feedsInOrder()
	for _, in := range v.inputs {
		f := in.feed
		f.users--
		if f.users == 0 {
			f.stop()
			if h.feeds[f.source] == f {
				delete(h.feeds, f.source)
			}
		}
	}
	h.mu.Unlock()
	for _, f := range feeds {
		f.detach(v)
	}
}

// watchReaders ends the streams of subscribers that do not read.
func (h *Hub) watchReaders() {
	ticker := time.NewTicker(max(h.options.MaxSilence/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-h.life.Done():
			return
		case now := <-ticker.C:
			h.mu.Lock()
			var slow []*Stream
			for s := range h.streams {
				if s.neglected(now, h.options.MaxSilence) {
					slow = append(slow, s)
				}
			}
			h.mu.Unlock()
			for _, s := range slow {
				s.end(errSlow)
			}
		}
	}
}

// Stop ends all streams with errStopped and all watches, and waits for the latter.
// Subscribe fails from then on.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stopped = true
	var open []*Stream
	for s := range h.streams {
		open = append(open, s)
	}
	h.mu.Unlock()
	for _, s := range open {
		s.end(errStopped)
	}
	h.end()
	h.work.wait()
}

// snapshot is what there is, for the metrics.
func (h *Hub) snapshot() (feeds []*feed, views []*view, streams int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		feeds = append(feeds, f)
	}
	for _, v := range h.views {
		views = append(views, v)
	}
	return feeds, views, len(h.streams)
}

// bounded admits the first values it sees.
type bounded struct {
	limit int
	mu    sync.Mutex
	seen  []string
}

func (b *bounded) admit(value string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.seen, value) {
		return true
	}
	if len(b.seen) >= b.limit {
		return false
	}
	b.seen = append(b.seen, value)
	return true
}

// work counts what goes on.
type work struct {
	mu    sync.Mutex
	over  bool
	group sync.WaitGroup
}

// begin does something beside, unless there was an end to it.
func (w *work) begin(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.group.Go(do)
	}
}

// wait lets nothing more begin, and waits for the rest.
func (w *work) wait() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.group.Wait()
}
