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
	next(resp *graphql.Response, id string) *ending
}

// subscription is one that is to be run.
type subscription struct {
	via     string
	exec    graphql.GraphExecutor
	op      *graphql.OperationContext
	present graphql.ErrorPresenterFunc
	out     sink
}

// outcome is how a subscription went. Errors are for the client; they are those of
// a subscription that did not begin, or the last of one that did.
type outcome struct {
	*ending

	began  bool
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
		return outcome{ending: &ending{reason: reasonRefused}, errors: gqlerror.List{sub.present(ctx, limited)}}
	}
	defer leave()
	ctx, cancel := stream.With(ctx)
	defer cancel(context.Canceled)
	ctx, standing := s.sentry.Stand(ctx, req.credentials, user)
	defer standing.Leave()
	defer func() {
		if v := recover(); v != nil {
			out.ending = &ending{reason: reasonFailed, err: recoverPanic(ctx, v)}
		}
		s.conclude(ctx, sub, &out)
	}()

	responses, ctx := sub.exec.DispatchOperation(ctx, sub.op)
	if req.failed() {
		// gqlgen answers with the errors alone then, and once.
		out.ending = &ending{reason: reasonRefused}
		if resp := responses(ctx); resp != nil {
			out.errors = resp.Errors
		}
		return out
	}
	out.began = true
	req.logBegin(ctx)
	ids := idsOf(sub.op)
	events := s.metrics.events.WithLabelValues(sub.via)
	ctx = authz.Unbound(ctx)
	for {
		resp := responses(ctx)
		switch {
		case ctx.Err() != nil:
			// An event that is ready now may be one that may no longer be seen.
			out.ending = endingOf(ctx)
			return out
		case resp == nil && s.isStopping():
			// What it reads from may have ended before it was told to.
			out.ending = endDraining
			return out
		case resp == nil:
			out.ending = endCompleted
			return out
		}
		if standing.Confirmed(ctx) != nil {
			out.ending = endingOf(ctx)
			return out
		}
		if end := sub.out.next(resp, ids.of(resp.Data)); end != nil {
			out.ending = end
			return out
		}
		out.events++
		events.Inc()
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
