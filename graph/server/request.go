package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// request is what the server remembers of one request for its log line.
// Resolvers run at once and report their errors here, so it has a lock.
type request struct {
	// credentials are those that the user was found by; streams check them again.
	credentials authz.Credentials
	// journal is where its lines go.
	journal *journal
	started time.Time
	// http and span are those of the request and of its operation.
	http, span tracing.Span

	mu            sync.Mutex
	user          string
	record        *audit.Record
	operation     string
	operationType string
	codes         map[apierror.Code]int
	logged        map[failure]bool
	// taken is set when another goroutine writes the line at the end.
	taken bool
	// via and connection are set by noteVia, stream by noteStream.
	via, connection string
	stream          *audit.Stream
	// definition is what was asked for; executed reports whether it was begun, and hasData
	// that something came of it.
	definition        *ast.OperationDefinition
	executed, hasData bool
	// operationContext is that in which it was executed, with what it cost.
	operationContext context.Context //nolint:containedctx // It is read when the operation is over.
}

// journal is where the lines about requests go.
type journal struct {
	logger *slog.Logger
	audit  *audit.Log
	now    func() time.Time
	// metrics count operations; nil for none.
	metrics *operationMetrics
	// slow is from when on an operation gets a line of its own; zero for never. cost is
	// what the line reports about what it cost.
	slow time.Duration
	cost func(context.Context) []slog.Attr
	// documents has spans hold the shape of what is asked for.
	documents bool
}

// request begins a request.
func (j *journal) request() *request {
	return &request{journal: j, started: j.now(), codes: map[apierror.Code]int{}, logged: map[failure]bool{}}
}

// failure tells apart what is worth a log line of its own: fifty fields that
// fail because one instance is down are one failure.
type failure struct {
	code     apierror.Code
	instance string
	cause    string
}

type requestKey struct{}

func withRequest(ctx context.Context, req *request) context.Context {
	return context.WithValue(ctx, requestKey{}, req)
}

func requestFrom(ctx context.Context) *request {
	req, _ := ctx.Value(requestKey{}).(*request)
	return req
}

// failed reports whether the response has an error by now.
func (r *request) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.codes) > 0
}

// takeOver leaves the line about the request to the caller.
func (r *request) takeOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = true
}

// logTaken writes the line that was left to the caller.
func (r *request) logTaken(ctx context.Context, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write(ctx, status)
}

// noteVia says which way the request came. The connection is the trace id of the
// WebSocket that it came by; empty where it is an HTTP request of its own.
func (r *request) noteVia(via, connection string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.via, r.connection = "graphql-"+via, connection
}

// noteStream reports that the request is a subscription.
func (r *request) noteStream() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = &audit.Stream{Phase: audit.End}
	// It lasts, and what it asked for is not needed any more.
	r.definition = nil
}

// userName is who sends the request.
func (r *request) userName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.user
}

// noteOutcome says how the subscription ended.
func (r *request) noteOutcome(out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.Reason, r.stream.Events = out.reason, out.events
}

// logBegin writes the line that a subscription gets at its beginning.
func (r *request) logBegin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record != nil {
		op := r.operationLine(http.StatusOK, r.journal.now().Sub(r.started))
		op.Stream = &audit.Stream{Phase: audit.Begin}
		r.journal.audit.Write(ctx, r.record, op)
	}
}

// operationLine is the audit line of the request.
func (r *request) operationLine(status int, duration time.Duration) audit.Operation {
	op := audit.Operation{User: r.user, Via: "graphql", Name: r.operation, Type: r.operationType, Status: status, Duration: duration}
	if len(r.codes) > 0 {
		op.Errors = r.codes
	}
	op.Stream, op.Connection = r.stream, r.connection
	if r.via != "" {
		op.Via = r.via
	}
	return op
}

// setUser notes who sends the request, and where it is noted what they are let to.
func (r *request) setUser(name string, credentials authz.Credentials, record *audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.credentials, r.record = name, credentials, record
}

// maxLoggedName keeps a client from filling the log with the name of its operation.
const maxLoggedName = 100

// setOperation takes the name from the parsed document, where it is an
// identifier, and never from the parameters, where it may be anything.
func (r *request) setOperation(opCtx *graphql.OperationContext) {
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

func (r *request) operationName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operation
}

// maxFailureLines is how many different causes of one request are logged.
const maxFailureLines = 20

// note counts an error of the response, and reports whether its cause is new to the log.
func (r *request) note(f failure) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes[f.code]++
	if f.cause == "" || r.logged[f] || len(r.logged) >= maxFailureLines {
		return false
	}
	r.logged[f] = true
	return true
}

// log writes the one line that every request gets: the audit line where it is
// known who sent it. It holds no variables, no arguments and no error texts: any
// of them may be a secret that a user put into the wrong place.
func (r *request) log(ctx context.Context, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.taken {
		r.write(ctx, status)
	}
}

// write is called with the lock held.
func (r *request) write(ctx context.Context, status int) {
	duration := r.journal.now().Sub(r.started)
	outcome := r.settle(ctx, status, duration)
	if r.record != nil {
		line := r.operationLine(status, duration)
		line.Outcome = outcome
		r.journal.audit.Write(ctx, r.record, line)
		return
	}
	attrs := []slog.Attr{slog.Int("status", status), slog.String("outcome", outcome), slog.Float64("durationMs", float64(duration.Microseconds())/1000)}
	if len(r.codes) > 0 {
		attrs = append(attrs, slog.Any("errors", r.codes))
	}
	r.journal.logger.LogAttrs(ctx, slog.LevelInfo, "graphql request", attrs...)
}
