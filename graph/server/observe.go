package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/signature"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// The outcomes of an operation.
const (
	// outcomeOK: all that was asked for was answered.
	outcomeOK = "ok"
	// outcomePartial: there is data, and an error where some of it is missing.
	outcomePartial = "partial"
	// outcomeFailed: there is no data.
	outcomeFailed = "failed"
	// outcomeRefused: it was not begun, because of what it is or who sends it.
	outcomeRefused = "refused"
)

// Words for what has none of its own.
const (
	noType        = "none"
	noCode        = "none"
	otherWord     = "other"
	anonymousName = "anonymous"
)

// gravest are the codes from the gravest on: an operation with several errors
// counts as one with the gravest of them.
var gravest = []apierror.Code{
	apierror.CodeInternal, apierror.CodeTimeout, apierror.CodeIndexUnavailable, apierror.CodeInstanceUnavailable,
	apierror.CodeRateLimited, apierror.CodeQueryTooComplex, apierror.CodeUnauthenticated, apierror.CodeForbidden,
	apierror.CodeConflict, apierror.CodeAlreadyExists, apierror.CodeNotFound, apierror.CodeStaleCursor, apierror.CodeInvalid,
	apierror.CodePersistedQueryNotSupported, apierror.CodePersistedQueryNotFound,
}

// gravestOf is the gravest of some codes, as metrics name it.
func gravestOf(codes map[apierror.Code]int) string {
	if len(codes) == 0 {
		return noCode
	}
	for _, code := range gravest {
		if codes[code] > 0 {
			return string(code)
		}
	}
	return otherWord
}

// operationMetrics are those of operations. No label is a text of the caller's: the
// name of an operation is one only where the administrator listed it.
type operationMetrics struct {
	known map[string]bool

	operations *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	mutations  *prometheus.CounterVec
	slow       prometheus.Counter
}

func newOperationMetrics(registerer prometheus.Registerer, names []string) *operationMetrics {
	const namespace, subsystem = "kairship", "graphql"
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}
	}
	m := &operationMetrics{
		known: map[string]bool{},
		operations: prometheus.NewCounterVec(opts("operations_total",
			"Operations that are over, by type, name where it is listed, outcome and gravest error code."), []string{"type", "operation", "outcome", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "operation_duration_seconds",
			Help:    "Time from the request to its answer, of queries and mutations that were begun.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"type", "operation"}),
		errors:    prometheus.NewCounterVec(opts("errors_total", "Errors in answers, by code."), []string{"code"}),
		mutations: prometheus.NewCounterVec(opts("mutations_total", "Mutations that were executed, by name and outcome."), []string{"mutation", "outcome"}),
		slow:      prometheus.NewCounter(opts("slow_operations_total", "Operations that took longer than the threshold of the slow operation log.")),
	}
	for _, name := range names {
		m.known[name] = true
	}
	if registerer != nil {
		registerer.MustRegister(m.operations, m.duration, m.errors, m.mutations, m.slow)
	}
	for _, kind := range []ast.Operation{ast.Query, ast.Mutation} {
		m.operations.WithLabelValues(string(kind), otherWord, outcomeOK, noCode)
	}
	for _, code := range apierror.Codes() {
		m.errors.WithLabelValues(string(code))
	}
	return m
}

// nameOf is the label of an operation's name.
func (m *operationMetrics) nameOf(name string) string {
	switch {
	case m.known[name]:
		return name
	case name == "":
		return anonymousName
	}
	return otherWord
}

func (m *operationMetrics) mutated(field string, failed bool) {
	outcome := outcomeOK
	if failed {
		outcome = outcomeFailed
	}
	m.mutations.WithLabelValues(field, outcome).Inc()
}

// settle says what became of the request, counts it, and ends its span. It is
// called once, with the lock held.
func (r *request) settle(ctx context.Context, status int, duration time.Duration) string {
	outcome := r.outcome(status)
	code := gravestOf(r.codes)
	if m := r.journal.metrics; m != nil {
		kind, name := r.operationType, m.nameOf(r.operation)
		if kind == "" {
			kind, name = noType, ""
		}
		m.operations.WithLabelValues(kind, name, outcome, code).Inc()
		if outcome != outcomeRefused && r.stream == nil {
			m.duration.WithLabelValues(kind, name).Observe(duration.Seconds())
		}
		for code, n := range r.codes {
			m.errors.WithLabelValues(gravestOf(map[apierror.Code]int{code: n})).Add(float64(n))
		}
	}
	if code != noCode {
		r.span.Text(tracing.Code, code)
	}
	if outcome == outcomeFailed {
		r.span.Fail(code)
	}
	r.span.End()
	if r.stream != nil {
		tracing.Late(ctx, "subscription end", func(s tracing.Span) {
			s.Text(tracing.Reason, r.stream.Reason)
			s.Number(tracing.Events, int(r.stream.Events))
		})
	}
	r.logSlow(ctx, duration, outcome)
	return outcome
}

func (r *request) outcome(status int) string {
	switch {
	case !r.executed && (len(r.codes) > 0 || status >= http.StatusBadRequest):
		return outcomeRefused
	case len(r.codes) == 0:
		return outcomeOK
	case r.hasData:
		return outcomePartial
	}
	return outcomeFailed
}

// noteResult records that the operation was executed, and with what data.
func (r *request) noteResult(data []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.executed = true
	if len(data) == 0 || string(data) == "null" {
		r.hasData = false
	}
}

// noteRootField records that a field of the operation itself was resolved, and whether it
// has a value. An operation whose fields are all null has failed, also where they may be.
func (r *request) noteRootField(value bool) {
	if r == nil || !value {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasData = true
}

// maxSlowDocument is how much of a slow operation's document is logged.
const maxSlowDocument = 2 << 10

// logSlow writes a line about an operation that took long. It holds the operation's
// shape, without a value of the caller's (package signature).
func (r *request) logSlow(ctx context.Context, duration time.Duration, outcome string) {
	if r.journal.slow <= 0 || duration < r.journal.slow || r.stream != nil || r.definition == nil {
		return
	}
	if r.journal.metrics != nil {
		r.journal.metrics.slow.Inc()
	}
	shape := signature.Of(r.definition, maxSlowDocument)
	attrs := []slog.Attr{
		slog.String("user", r.user), slog.String("operation", r.operation), slog.String("type", r.operationType), slog.String("outcome", outcome),
		slog.Float64("durationMs", float64(duration.Microseconds())/1000),
		slog.String("document", shape), slog.String("documentHash", signature.Hash(shape)),
	}
	if r.journal.cost != nil && r.operationContext != nil {
		attrs = append(attrs, r.journal.cost(r.operationContext)...) //nolint:contextcheck // What it cost is written down there.
	}
	r.journal.logger.LogAttrs(ctx, slog.LevelWarn, "slow operation", attrs...)
}
