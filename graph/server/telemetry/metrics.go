package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// The outcomes of an operation.
const (
	// outcomeOK: all that was asked for was answered.
	outcomeOK = "ok"
	// outcomePartial: there is data, and an error where some of it is missing.
	outcomePartial = "partial"
	// outcomeFailed: there is no data.
	outcomeFailed = "failed"
	// outcomeRefused: the operation was refused before it began, because of its content or its
	// user.
	outcomeRefused = "refused"
)

// Words for what has none of its own.
const (
	noType        = "none"
	noCode        = "none"
	otherWord     = "other"
	anonymousName = "anonymous"
)

// bySeverity are the codes, the most severe first: an operation with several errors counts
// as one with the most severe of them.
var bySeverity = []apierror.Code{
	apierror.CodeInternal, apierror.CodeTimeout, apierror.CodeIndexUnavailable, apierror.CodeInstanceUnavailable,
	apierror.CodeRateLimited, apierror.CodeQueryTooComplex, apierror.CodeUnauthenticated, apierror.CodeForbidden,
	apierror.CodeConflict, apierror.CodeAlreadyExists, apierror.CodeNotFound, apierror.CodeStaleCursor, apierror.CodeInvalid,
	apierror.CodePersistedQueryNotSupported, apierror.CodePersistedQueryNotFound,
}

// mostSevere returns the most severe of some codes, as metrics name it.
func mostSevere(codes map[apierror.Code]int) string {
	if len(codes) == 0 {
		return noCode
	}
	for _, code := range bySeverity {
		if codes[code] > 0 {
			return string(code)
		}
	}
	return otherWord
}

// Metrics are those of operations. No label is a text of the caller's: the
// name of an operation is one only where the administrator listed it.
type Metrics struct {
	known map[string]bool

	operations *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	mutations  *prometheus.CounterVec
	slow       prometheus.Counter
}

// NewMetrics returns metrics with labels for operations of these names.
func NewMetrics(registerer prometheus.Registerer, names []string) *Metrics {
	const namespace, subsystem = "kairship", "graphql"
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}
	}
	m := &Metrics{
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

// nameOf returns the label of an operation's name.
func (m *Metrics) nameOf(name string) string {
	switch {
	case m.known[name]:
		return name
	case name == "":
		return anonymousName
	}
	return otherWord
}

// Mutated counts a mutation.
func (m *Metrics) Mutated(field string, failed bool) {
	outcome := outcomeOK
	if failed {
		outcome = outcomeFailed
	}
	m.mutations.WithLabelValues(field, outcome).Inc()
}
