package server

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/validation"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/upstream"
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
	metrics     *limit.Metrics
	origins     *origin.Policy
	// answers are shared among equal queries; nil where none are.
	answers *answercache.Cache
}

// beginning takes what a request brings beside its operation, and returns the context
// of the operation; nil for nothing.
type beginning func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)

// single answers an operation that has one response, within the deadline and what was let
// in of its user. Without a response, the error says why.
func (e execution) single(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext, headers http.Header) (*answercache.Answer, error) {
	if limited := entered.Reserve(plan.BillOf(opCtx).Cost); limited != nil {
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
	if opCtx.Operation.Operation == ast.Mutation {
		defer e.answers.Forget()
	}
	given, shared, err := e.answers.Of(ctx, opCtx, headers, func(ctx context.Context) (*answercache.Answer, error) {
		return e.run(ctx, exec, entered, opCtx)
	})
	if err != nil {
		return nil, err
	}
	if shared {
		entered.Settle(limit.Spent(len(given.Response.Data), nil))
		// A slow client keeps it in memory, also when it is no longer shared.
		if entered.Hold(given.Len()) != nil {
			return nil, entered.Refusal()
		}
	}
	telemetry.From(ctx).SetResult(given.Response.Data)
	return given, nil
}

// run executes an operation.
func (execution) run(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext) (*answercache.Answer, error) {
	responses, ctx := exec.DispatchOperation(ctx, opCtx)
	resp := responses(ctx)
	answered := 0
	if resp != nil {
		answered = len(resp.Data)
	}
	used := upstream.From(ctx)
	entered.Settle(limit.Spent(answered, used))
	if refusal := entered.Refusal(); refusal != nil && opCtx.Operation.Operation == ast.Query {
		// Most of the answer is missing: the refusal alone says what to do.
		return nil, refusal
	}
	if resp == nil {
		// gqlgen gives no response when the context ended before execution began.
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the deadline of the request passed before it was begun")
	}
	return &answercache.Answer{Response: resp, Live: used.Requests(upstream.Instance) > 0}, nil
}

// refused is the answer to a document that cannot be executed.
func (e execution) refused(ctx context.Context, exec graphql.GraphExecutor, opCtx *graphql.OperationContext, errs gqlerror.List) *graphql.Response {
	if opCtx.Doc != nil && opCtx.Operation == nil {
		errs = gqlerror.List{gqlerror.Wrap(unknownOperation(opCtx.OperationName))}
	}
	errs = distinct(errs)
	errs = errs[:min(len(errs), maxRequestErrors)]
	validation.NameArguments(opCtx, e.tokenLimit, errs)
	return exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs)
}
