package server

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

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
	take    beginning
	out     sink
}

// outcome is how a subscription went. Errors are for the client: those of
// a subscription that did not begin, or the last of one that did.
type outcome struct {
	*endError

	errors gqlerror.List
	events int64
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
