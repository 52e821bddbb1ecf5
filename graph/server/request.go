package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
)

// request is what the server remembers of one request for its log line.
// Resolvers run at once and report their errors here, so it has a lock.
type request struct {
	traceID string

	mu            sync.Mutex
	user          string
	record        *audit.Record
	operation     string
	operationType string
	codes         map[apierror.Code]int
	logged        map[failure]bool
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

func newRequest(traceID string) *request {
	return &request{traceID: traceID, codes: map[apierror.Code]int{}, logged: map[failure]bool{}}
}

// setUser notes who sends the request, and where it is noted what they are let to.
func (r *request) setUser(name string, record *audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.record = name, record
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
}

func (r *request) operationName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operation
}

// maxFailureLines is how many different causes of one request are logged.
const maxFailureLines = 20

// note counts an error of the response, and tells whether its cause is new to the log.
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
// of them may be a secret that somebody put into the wrong place.
func (r *request) log(ctx context.Context, logger *slog.Logger, lines *audit.Log, status int, duration time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record != nil {
		op := audit.Operation{User: r.user, Via: "graphql", Name: r.operation, Type: r.operationType, Status: status, Duration: duration}
		if len(r.codes) > 0 {
			op.Errors = r.codes
		}
		lines.Write(ctx, r.record, op)
		return
	}
	attrs := []slog.Attr{slog.Int("status", status), slog.Float64("durationMs", float64(duration.Microseconds())/1000)}
	if len(r.codes) > 0 {
		attrs = append(attrs, slog.Any("errors", r.codes))
	}
	logger.LogAttrs(ctx, slog.LevelInfo, "graphql request", attrs...)
}
