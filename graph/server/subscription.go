package server

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/authz"
)

// sink is where the results of a subscription go.
type sink interface {
	// next sends a result. The id, where it is not empty, is what the subscription can
	// be resumed after. Nothing of the result may be kept.
	next(resp *graphql.Response, id string) *endError
}

// subscription is one that is to be run.
type subscription struct {
	via     string
	exec    graphql.GraphExecutor
	op      *graphql.OperationContext
	present graphql.ErrorPresenterFunc
	out     sink
}

// outcome is how a subscription went. Errors are for the client: those of
// a subscription that did not begin, or the last of one that did.
type outcome struct {
	*endError

	errors gqlerror.List
	events int64
}

// run runs a subscription until it ends. The context is that of the request, with
// its user; it carries the reason when the transport ends it.
func (s *streams) run(ctx context.Context, sub subscription) (out outcome) {
	req := requestFrom(ctx)
	user, _ := authz.UserFrom(ctx)
	leave, limited := s.subscribe(sub.via, user.Name)
	if limited != nil {
		return outcome{endError: &endError{reason: reasonRefused}, errors: gqlerror.List{sub.present(ctx, limited)}}
	}
	defer leave()
	ctx, standing := s.sentry.Stand(ctx, req.credentials, user)
	defer standing.Leave()
	defer func() {
		if v := recover(); v != nil {
			out.endError = &endError{reason: reasonFailed, err: recoverPanic(ctx, v)}
		}
		s.conclude(ctx, sub, &out)
	}()
	// What the resolver ends does not end the events that it has sent already.
	own, cancel := stream.With(ctx)
	defer cancel(context.Canceled)

	responses, inner := sub.exec.DispatchOperation(own, sub.op)
	event, stop := eventContext(ctx, inner)
	defer stop()
	if req.failed() {
		// gqlgen answers with the errors alone then, and once.
		out.endError = &endError{reason: reasonRefused}
		if resp := responses(event); resp != nil {
			out.errors = resp.Errors
		}
		return out
	}
	req.logBegin(ctx)
	ids := idsOf(sub.op)
	events := s.metrics.events.WithLabelValues(sub.via)
	for {
		resp := responses(event)
		switch {
		case ctx.Err() != nil:
			// An event that is ready now may be one that may no longer be seen.
			out.endError = endingOf(ctx)
			return out
		case resp == nil && own.Err() != nil:
			out.endError = endingOf(own)
			return out
		case resp == nil && s.isStopping():
			// What it reads from may have ended before it was told to.
			out.endError = errDraining
			return out
		case resp == nil:
			out.endError = errCompleted
			return out
		}
		if standing.Confirmed(ctx) != nil {
			out.endError = endingOf(ctx)
			return out
		}
		if end := sub.out.next(resp, ids.of(resp.Data)); end != nil {
			out.endError = end
			return out
		}
		if out.events == 0 {
			// What goes on from here is for as long as the client likes.
			req.noteResult(resp.Data)
			req.span.End()
		}
		out.events++
		events.Inc()
	}
}

// eventContext is the context of single events: it has what gqlgen put into the
// context of the operation, but ends when the stream does, and what is read with it
// need not stay as it is.
func eventContext(of, operation context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(authz.Unbound(context.WithoutCancel(operation)))
	forget := context.AfterFunc(of, func() { cancel(context.Cause(of)) })
	return ctx, func() {
		forget()
		cancel(context.Canceled)
	}
}

// conclude notes how a subscription ended, and what its client is told of it.
func (s *streams) conclude(ctx context.Context, sub subscription, out *outcome) {
	s.metrics.ends.WithLabelValues(sub.via, out.reason).Inc()
	if out.err == nil {
		return
	}
	// The context has ended, but the reason is not that a deadline passed.
	last := sub.present(context.WithoutCancel(ctx), out.err)
	last.Extensions["reason"] = out.reason
	last.Path = nil
	out.errors = append(out.errors, last)
}
