package globalmanagementwebhook

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// How much is worked on at once. Only what is signed is worked on.
const (
	maxEvents  = 256
	maxResyncs = 2
)

// How long storing may take.
const (
	eventTimeout  = 20 * time.Second
	resyncTimeout = 2 * time.Minute
)

// handler answers the requests of global management.
type handler struct {
	store    *store
	secrets  func(context.Context) ([][]byte, error)
	verifier gm.Verifier
	seen     *memory
	now      func() time.Time
	log      logr.Logger
	received *prometheus.CounterVec

	eventBodies, resyncBodies *readers
	events, resyncs           chan struct{}
	unsigned                  rarely
}

func newHandler(kube *store, secrets func(context.Context) ([][]byte, error), now func() time.Time, log logr.Logger, registry prometheus.Registerer) *handler {
	return &handler{
		store: kube, secrets: secrets, now: now, log: log, received: newReceived(registry),
		verifier: gm.Verifier{Now: now},
		// A timestamp may lie ahead as far as behind, so a request may be accepted for
		// twice the tolerance.
		seen:        &memory{lasts: 2 * gm.DefaultTolerance, size: 100_000},
		eventBodies: &readers{most: maxEventBodies}, resyncBodies: &readers{most: maxResyncBodies},
		events: make(chan struct{}, maxEvents), resyncs: make(chan struct{}, maxResyncs),
		unsigned: rarely{every: time.Second},
	}
}

// request is a request that was verified and decoded.
type request struct {
	body     []byte
	delivery gm.Delivery
	// from is the address of the peer.
	from string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The platform is known by a signature of the body, which is not read yet.
	ctx, span := tracing.Serve(r.Context(), r.Header, "webhook "+routeOf(r), nil)
	defer span.End()
	r = r.WithContext(ctx)
	var refused *refusal
	switch {
	case r.URL.Path != gm.EventsPath && r.URL.Path != gm.ResyncPath:
		refused = refuse(gm.UnknownPath, "", "there are %s and %s", gm.EventsPath, gm.ResyncPath)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refused = refuse(gm.MethodNotAllowed, "", "the method must be POST")
	case r.URL.Path == gm.EventsPath:
		refused = h.serve(w, r, lane{h.eventBodies, gm.MaxEventBytes, eventArrives, h.events, eventTimeout}, h.event)
	default:
		refused = h.serve(w, r, lane{h.resyncBodies, gm.MaxResyncBytes, resyncArrives, h.resyncs, resyncTimeout}, h.resync)
	}
	if refused != nil {
		h.count(r.URL.Path, string(refused.Code))
		span.Text(tracing.Result, string(refused.Code))
		if refused.Code == gm.Unavailable {
			span.Fail(string(refused.Code))
		}
		h.tell(r, refused)
		if refused.retryAfter > 0 {
			setRetryAfter(w, refused.retryAfter)
		}
		h.answer(w, statuses[refused.Code], refused.Refusal)
	}
}

// routeOf is the address of a request, as spans have it.
func routeOf(r *http.Request) string {
	if r.URL.Path == gm.EventsPath || r.URL.Path == gm.ResyncPath {
		return r.URL.Path
	}
	return "unknown"
}

// logger names the trace of a request in what is logged of it.
func (h *handler) logger(ctx context.Context) logr.Logger {
	if id := tracing.TraceID(ctx); id != "" {
		return h.log.WithValues("traceId", id, "spanId", tracing.SpanID(ctx))
	}
	return h.log
}

// serve reads a request, makes sure that it is the platform's and new, and has it
// stored. store answers it, or says why it is refused. Until a request is known to be
// the platform's, it takes nothing that the platform's could lack.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, l lane,
	store func(context.Context, http.ResponseWriter, request) *refusal,
) *refusal {
	// Of what is refused unread, too: the server reads the rest of it before it answers.
	setReadDeadline(http.NewResponseController(w), time.Now().Add(eventArrives))
	if refused := h.screen(r.Header); refused != nil {
		return refused
	}
	secrets, err := h.secrets(r.Context())
	if err != nil {
		return unavailable(err)
	}
	received, refused := h.receive(w, r, l, secrets)
	if refused != nil {
		return refused
	}
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	default:
		return unavailable(errors.New("too many requests at once"))
	}
	if !h.seen.first(received.delivery.Digest, h.now()) {
		return replayed()
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.within)
	defer cancel()
	return store(ctx, w, received)
}

// event stores an event.
func (h *handler) event(ctx context.Context, w http.ResponseWriter, r request) *refusal {
	var event gm.Event
	if err := decode(r.body, &event); err != nil {
		return malformed(err)
	}
	if err := event.Validate(); err != nil {
		return malformed(err)
	}
	name := v1alpha1.BindingName(event.BindingID)
	done, refused := h.store.decideAndWrite(ctx, name, nil, h.store, func(stored *v1alpha1.InstanceRoleBinding) (decision, *refusal) {
		return decideEvent(stored, event, r.delivery)
	})
	if refused != nil {
		h.logger(ctx).Info("Event refused", "binding", event.BindingID, "event", event.EventID, "code", refused.Code, "from", r.from)
		return refused
	}
	tracing.At(ctx).Text(tracing.Result, string(done.result))
	h.logger(ctx).Info("Event received", "result", done.result, "binding", event.BindingID, "event", event.EventID, "sequence", event.Sequence,
		"type", event.Type, "instance", event.Instance, "role", event.Role, "object", name, "from", r.from)
	h.count(gm.EventsPath, string(done.result))
	h.answer(w, http.StatusOK, gm.Receipt{Result: done.result, BindingID: event.BindingID, Sequence: done.sequence, Object: name})
	return nil
}

// resync stores all bindings.
func (h *handler) resync(ctx context.Context, w http.ResponseWriter, r request) *refusal {
	var all gm.Resync
	if err := decode(r.body, &all); err != nil {
		return malformed(err)
	}
	if err := all.Validate(); err != nil {
		return malformed(err)
	}
	if all.AsOf > r.delivery.IssuedAt.UnixMilli() {
		return refuse(gm.Malformed, "asOf", "asOf must not be later than the header %s: it is the moment before the bindings were read", gm.TimestampHeader)
	}
	report, err := h.store.resync(ctx, all, r.delivery)
	if err != nil && report.Bindings == nil {
		return unavailable(err)
	}
	h.logger(ctx).Info("Resync received", "bindings", len(all.Bindings), "asOf", time.UnixMilli(all.AsOf).UTC(), "counts", report.Counts, "from", r.from)
	status, result := http.StatusOK, gm.Stored
	if report.Counts[gm.Failed] > 0 {
		h.logger(ctx).Error(err, "Bindings of a resync could not be stored", "failed", report.Counts[gm.Failed])
		setRetryAfter(w, retryAfter)
		status, result = http.StatusServiceUnavailable, gm.Failed
	}
	h.count(gm.ResyncPath, string(result))
	h.answer(w, status, report)
	return nil
}

// tell logs a refusal. Any client can send unsigned requests, so these are logged at most once a
// second.
func (h *handler) tell(r *http.Request, refused *refusal) {
	switch refused.Code {
	case gm.Unavailable:
		if now, missed := h.unsigned.now(h.now()); now {
			h.logger(r.Context()).Error(refused.cause, "A request cannot be served", "path", r.URL.Path, "from", r.RemoteAddr, "moreBefore", missed)
		}
	case gm.WrongSignature, gm.StaleTimestamp, gm.TooLarge, gm.UnknownPath, gm.MethodNotAllowed:
		if now, missed := h.unsigned.now(h.now()); now {
			h.log.Info("Request refused", "code", refused.Code, "from", r.RemoteAddr, "moreBefore", missed)
		}
	case gm.Malformed, gm.Replay:
		h.log.Info("Request refused", "code", refused.Code, "field", refused.Field, "from", r.RemoteAddr)
	case gm.UnknownInstance, gm.SequenceConflict, gm.BindingConflict:
		// Logged with the event that they are about.
	}
}

func (h *handler) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		h.log.V(1).Info("The answer was not read to its end", "cause", err.Error())
	}
}

func setRetryAfter(w http.ResponseWriter, after time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
}

// rarely lets something happen no more often than it says, and counts the rest.
type rarely struct {
	every time.Duration

	mu     sync.Mutex
	last   time.Time
	missed int
}

func (r *rarely) now(at time.Time) (ok bool, missed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := at.Sub(r.last); since >= 0 && since < r.every {
		r.missed++
		return false, 0
	}
	missed, r.missed, r.last = r.missed, 0, at
	return true, missed
}
