// Package telemetry records the outcome of GraphQL requests: lines in the log and in the
// audit log, metrics, and the span of the operation.
package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// Recorder is where records of requests go.
type Recorder struct {
	Logger *slog.Logger
	Audit  *audit.Log
	Now    func() time.Time
	// Metrics count operations; nil for none.
	Metrics *Metrics
	// Slow is from when on an operation gets a line of its own; zero for never. Cost returns
	// what the line reports about what it cost.
	Slow time.Duration
	Cost func(context.Context) []slog.Attr
	// Documents has spans hold the shape of what is asked for.
	Documents bool
}

// Begin begins the record of a request.
func (t *Recorder) Begin() *Record {
	return &Record{recorder: t, started: t.Now(), codes: map[apierror.Code]int{}, logged: map[Failure]bool{}}
}

// Record is what becomes known of one request until its line is written, its metrics are
// counted and its span ends. Resolvers run at once and report their errors here, so it has
// a lock.
type Record struct {
	recorder *Recorder
	started  time.Time
	// span is that of the operation.
	span tracing.Span

	mu    sync.Mutex
	user  string
	audit *audit.Record
	// operation is the name.
	operation     string
	operationType string
	codes         map[apierror.Code]int
	logged        map[Failure]bool
	// deferred is set when another goroutine writes the line at the end.
	deferred bool
	// way is set by SetWay; transport and connection by SetVia, stream by SetStream.
	way, transport, connection string
	stream                     *audit.Stream
	// definition is what was asked for; executed reports whether it was begun, and hasData
	// that something came of it.
	definition        *ast.OperationDefinition
	executed, hasData bool
	// execution is the context in which it was executed, with what it cost.
	execution context.Context //nolint:containedctx // It is read when the operation is over.
}

// The ways into the API.
const (
	WayGraphQL = "graphql"
	WayREST    = "rest"
	WayRPC     = "grpc"
	WayMCP     = "mcp"
)

type wayKey struct{}

// WithWay returns a context whose requests to /graphql came by another way.
func WithWay(ctx context.Context, way string) context.Context {
	return context.WithValue(ctx, wayKey{}, way)
}

// WayFrom returns the way of WithWay; empty for none.
func WayFrom(ctx context.Context) string {
	way, _ := ctx.Value(wayKey{}).(string)
	return way
}

// Failure is what gets a log line of its own: fifty fields that fail because one instance
// is down are one failure.
type Failure struct {
	Code     apierror.Code
	Instance string
	Cause    string
}

type recordKey struct{}

// With returns a context whose operation is recorded.
func With(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

// From returns the record of a context; nil where it has none.
func From(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

// HasErrors reports whether the response has an error by now.
func (r *Record) HasErrors() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.codes) > 0
}

// Defer makes WriteDeferred write the line instead of Write.
func (r *Record) Defer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deferred = true
}

// WriteDeferred writes the line that Defer left to it.
func (r *Record) WriteDeferred(ctx context.Context, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(ctx, status)
}

// SetVia notes which way the request came. The connection is the trace id of the
// WebSocket that it came by; empty where it is an HTTP request of its own.
func (r *Record) SetVia(via, connection string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.transport, r.connection = via, connection
}

// SetWay notes which of the ways into the API the request took, where it is not /graphql.
func (r *Record) SetWay(way string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.way = way
}

// via is the way in, with the transport of a subscription where the way has several.
func (r *Record) via() string {
	way := cmp.Or(r.way, WayGraphQL)
	if r.transport == "" || r.transport == way {
		return way
	}
	return way + "-" + r.transport
}

// SetStream notes that the request is a subscription.
func (r *Record) SetStream() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = &audit.Stream{Phase: audit.End}
	// It lasts, and what it asked for is not needed any more.
	r.definition = nil
}

// SetEnd notes why the subscription ended, and how many events it had.
func (r *Record) SetEnd(reason string, events int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.Reason, r.stream.Events = reason, events
}

// WriteBegin writes the line that a subscription gets at its beginning.
func (r *Record) WriteBegin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.audit != nil {
		op := r.operationLine(http.StatusOK, r.recorder.Now().Sub(r.started))
		op.Stream = &audit.Stream{Phase: audit.Begin}
		r.recorder.Audit.Write(ctx, r.audit, op)
	}
}

// operationLine returns the audit line of the request.
func (r *Record) operationLine(status int, duration time.Duration) audit.Operation {
	op := audit.Operation{User: r.user, Via: r.via(), Name: r.operation, Type: r.operationType, Status: status, Duration: duration}
	if len(r.codes) > 0 {
		op.Errors = r.codes
	}
	op.Stream, op.Connection = r.stream, r.connection
	return op
}

// SetUser records the user of the request, and the audit record of their permissions.
func (r *Record) SetUser(name string, record *audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.audit = name, record
}

// SetExecution notes the context in which the operation is executed.
func (r *Record) SetExecution(ctx context.Context) {
	if r != nil {
		r.execution = ctx
	}
}

// maxLoggedName keeps a client from filling the log with the name of its operation.
const maxLoggedName = 100

// SetOperation takes the name from the parsed document, where it is an
// identifier, and never from the parameters, where it may be anything.
func (r *Record) SetOperation(opCtx *graphql.OperationContext) {
	if opCtx == nil || opCtx.Operation == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operation = opCtx.Operation.Name[:min(len(opCtx.Operation.Name), maxLoggedName)]
	r.operationType = string(opCtx.Operation.Operation)
	r.definition = opCtx.Operation
	r.describeSpan(opCtx.Operation)
}

// OperationName returns the name of the operation.
func (r *Record) OperationName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operation
}

// maxFailureLines is how many different causes of one request are logged.
const maxFailureLines = 20

// AddFailure counts an error of the response, and reports whether its cause is new to the log.
func (r *Record) AddFailure(f Failure) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes[f.Code]++
	if f.Cause == "" || r.logged[f] || len(r.logged) >= maxFailureLines {
		return false
	}
	r.logged[f] = true
	return true
}

// Write writes the one line that every request gets: the audit line if the user is known. It has no
// variables, no arguments and no error texts: any of them may be a secret that a user put into the
// wrong place.
func (r *Record) Write(ctx context.Context, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deferred {
		r.write(ctx, status)
	}
}

// write is called with the lock held.
func (r *Record) write(ctx context.Context, status int) {
	duration := r.recorder.Now().Sub(r.started)
	outcome := r.finish(ctx, status, duration)
	if r.audit != nil {
		line := r.operationLine(status, duration)
		line.Outcome = outcome
		r.recorder.Audit.Write(ctx, r.audit, line)
		return
	}
	attrs := []slog.Attr{slog.Int("status", status), slog.String("outcome", outcome), slog.Float64("durationMs", float64(duration.Microseconds())/1000)}
	if len(r.codes) > 0 {
		attrs = append(attrs, slog.Any("errors", r.codes))
	}
	r.recorder.Logger.LogAttrs(ctx, slog.LevelInfo, "graphql request", attrs...)
}
