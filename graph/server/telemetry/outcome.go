package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/kairship-io/kairship/graph/server/signature"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// finish counts the request, ends its span and returns the outcome. It is called once, with
// the lock held.
func (r *Record) finish(ctx context.Context, status int, duration time.Duration) string {
	outcome := r.outcome(status)
	code := mostSevere(r.codes)
	if m := r.recorder.Metrics; m != nil {
		kind, name := r.operationType, m.nameOf(r.operation)
		if kind == "" {
			kind, name = noType, ""
		}
		m.operations.WithLabelValues(kind, name, outcome, code).Inc()
		if outcome != outcomeRefused && r.stream == nil {
			m.duration.WithLabelValues(kind, name).Observe(duration.Seconds())
		}
		for code, n := range r.codes {
			m.errors.WithLabelValues(mostSevere(map[apierror.Code]int{code: n})).Add(float64(n))
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

func (r *Record) outcome(status int) string {
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

// SetResult notes that the operation was executed, and with what data.
func (r *Record) SetResult(data []byte) {
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

// SetRootField notes that a field of the operation itself was resolved, and whether it
// has a value. An operation whose fields are all null has failed, also where they may be.
func (r *Record) SetRootField(value bool) {
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
func (r *Record) logSlow(ctx context.Context, duration time.Duration, outcome string) {
	if r.recorder.Slow <= 0 || duration < r.recorder.Slow || r.stream != nil || r.definition == nil {
		return
	}
	if r.recorder.Metrics != nil {
		r.recorder.Metrics.slow.Inc()
	}
	shape := signature.Of(r.definition, maxSlowDocument)
	attrs := []slog.Attr{
		slog.String("user", r.user), slog.String("operation", r.operation), slog.String("type", r.operationType), slog.String("outcome", outcome),
		slog.Float64("durationMs", float64(duration.Microseconds())/1000),
		slog.String("document", shape), slog.String("documentHash", signature.Hash(shape)),
	}
	if r.recorder.Cost != nil && r.execution != nil {
		attrs = append(attrs, r.recorder.Cost(r.execution)...) //nolint:contextcheck // What it cost is written down there.
	}
	r.recorder.Logger.LogAttrs(ctx, slog.LevelWarn, "slow operation", attrs...)
}
