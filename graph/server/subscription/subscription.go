package subscription

import (
	"context"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/authz"
)

// Sink is where the results of a subscription go.
type Sink interface {
	// Next sends a result. The id, where it is not empty, is what the subscription can
	// be resumed after. Nothing of the result may be kept.
	Next(resp *graphql.Response, id string) *EndError
}

// Subscription is a subscription to run.
type Subscription struct {
	// Via is its transport.
	Via     string
	Exec    graphql.GraphExecutor
	Op      *graphql.OperationContext
	Present graphql.ErrorPresenterFunc
	// Begin takes what the request brings beside its operation, and returns the context of
	// the operation; nil for nothing.
	Begin func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)
	Sink  Sink
}

// Outcome is how a subscription went. Errors are for the client: those of
// a subscription that did not begin, or the last of one that did.
type Outcome struct {
	End    *EndError
	Errors gqlerror.List
	Events int64
}

// eventContext returns the context of single events: it has what gqlgen put into the
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
