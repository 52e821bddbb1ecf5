package server

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// execution is what all transports do with an operation.
type execution struct {
	present graphql.ErrorPresenterFunc
	begin   beginning
	// beginStream is begin for subscriptions.
	beginStream beginning
	timeout     time.Duration
	tokenLimit  int
	quotas      *quota.Users
	metrics     *limitMetrics
	origins     *origins
	// answers are shared among equal queries; nil where none are.
	answers *answers
}

// beginning takes what a request brings beside its operation, and returns the context
// of the operation; nil for nothing.
type beginning func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)

// single answers an operation that has one response, within the deadline and what was let
// in of its user. Without a response, the error says why.
func (e execution) single(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext, headers http.Header) (*answer, error) {
	if limited := entered.Reserve(billOf(opCtx).Cost); limited != nil {
		entered.Settle(0)
		return nil, limited
	}
	ctx, cancel := context.WithTimeout(quota.With(ctx, entered), e.timeout)
	defer cancel()
	if e.begin != nil {
		begun, err := e.begin(ctx, headers, opCtx.Extensions)
		if err != nil {
			entered.Settle(0)
			return nil, err
		}
		ctx = begun
	}
	if isMutation(opCtx) {
		defer e.answers.forget()
	}
	given, shared, err := e.answers.of(ctx, opCtx, headers, func(ctx context.Context) (*answer, error) {
		return e.run(ctx, exec, entered, opCtx)
	})
	if err != nil {
		return nil, err
	}
	if shared {
		entered.Settle(spent(len(given.resp.Data), nil))
		// A slow client keeps it in memory, also when it is no longer shared.
		if entered.Hold(int64(len(given.body))) != nil {
			return nil, entered.Refusal()
		}
	}
	requestFrom(ctx).noteResult(given.resp.Data)
	return given, nil
}

// run executes an operation.
func (execution) run(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext) (*answer, error) {
	responses, ctx := exec.DispatchOperation(ctx, opCtx)
	resp := responses(ctx)
	answered := 0
	if resp != nil {
		answered = len(resp.Data)
	}
	used := requeststats.From(ctx)
	entered.Settle(spent(answered, used))
	if refusal := entered.Refusal(); refusal != nil && isQuery(ctx) {
		// Most of the answer is missing: the refusal alone says what to do.
		return nil, refusal
	}
	if resp == nil {
		// gqlgen gives no response when the context ended before execution began.
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the deadline of the request passed before it was begun")
	}
	return &answer{resp: resp, live: used.Requests(requeststats.Instance) > 0}, nil
}

// refused is the answer to a document that cannot be executed.
func (e execution) refused(ctx context.Context, exec graphql.GraphExecutor, opCtx *graphql.OperationContext, errs gqlerror.List) *graphql.Response {
	if opCtx.Doc != nil && opCtx.Operation == nil {
		errs = gqlerror.List{gqlerror.Wrap(unknownOperation(opCtx.OperationName))}
	}
	errs = distinct(errs)
	errs = errs[:min(len(errs), maxRequestErrors)]
	nameArguments(opCtx, e.tokenLimit, errs)
	return exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs)
}
