// Package execution executes the operations of requests, for all transports.
package execution

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/validation"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// Executor is what all transports do with an operation.
type Executor struct {
	Present graphql.ErrorPresenterFunc
	Begin   BeginFunc
	// BeginStream is Begin for subscriptions.
	BeginStream  BeginFunc
	Timeout      time.Duration
	TokenLimit   int
	Quotas       *quota.Users
	LimitMetrics *limit.Metrics
	Origins      *origin.Policy
	// Answers are shared among equal queries; nil where none are.
	Answers *answercache.Cache
}

// BeginFunc takes what a request brings beside its operation, and returns the context
// of the operation; nil for nothing.
type BeginFunc func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)

// maxRequestErrors is how many errors a document gets at once. No user mends
// more, and a document of errors alone would have thousands.
const maxRequestErrors = 10

// Single answers an operation that has one response, within the deadline and what was let
// in of its user. Without a response, the error says why.
func (e Executor) Single(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext, headers http.Header) (*answercache.Answer, error) {
	if limited := entered.Reserve(plan.BillOf(opCtx).Cost); limited != nil {
		entered.Charge(0)
		return nil, limited
	}
	ctx, cancel := context.WithTimeout(quota.With(ctx, entered), e.Timeout)
	defer cancel()
	if e.Begin != nil {
		begun, err := e.Begin(ctx, headers, opCtx.Extensions)
		if err != nil {
			entered.Charge(0)
			return nil, err
		}
		ctx = begun
	}
	if opCtx.Operation.Operation == ast.Mutation {
		defer e.Answers.Forget()
	}
	given, shared, err := e.Answers.Of(ctx, opCtx, headers, func(ctx context.Context) (*answercache.Answer, error) {
		return e.run(ctx, exec, entered, opCtx)
	})
	if err != nil {
		return nil, err
	}
	if shared {
		entered.Charge(limit.Spent(len(given.Response.Data), nil))
		// A slow client keeps it in memory, also when it is no longer shared.
		if entered.Hold(given.Len()) != nil {
			return nil, entered.Refusal()
		}
	}
	telemetry.From(ctx).SetResult(given.Response.Data)
	return given, nil
}

// run executes an operation.
func (Executor) run(ctx context.Context, exec graphql.GraphExecutor, entered *quota.Operation, opCtx *graphql.OperationContext) (*answercache.Answer, error) {
	responses, ctx := exec.DispatchOperation(ctx, opCtx)
	resp := responses(ctx)
	answered := 0
	if resp != nil {
		answered = len(resp.Data)
	}
	used := requeststats.From(ctx)
	entered.Charge(limit.Spent(answered, used))
	if refusal := entered.Refusal(); refusal != nil && opCtx.Operation.Operation == ast.Query {
		// Most of the answer is missing: the refusal alone says what to do.
		return nil, refusal
	}
	if resp == nil {
		// gqlgen gives no response when the context ended before execution began.
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the deadline of the request passed before it was begun")
	}
	return &answercache.Answer{Response: resp, Live: used.Requests(requeststats.Instance) > 0}, nil
}

// Refused returns the answer to a document that cannot be executed.
func (e Executor) Refused(ctx context.Context, exec graphql.GraphExecutor, opCtx *graphql.OperationContext, errs gqlerror.List) *graphql.Response {
	if opCtx.Doc != nil && opCtx.Operation == nil {
		errs = gqlerror.List{gqlerror.Wrap(unknownOperation(opCtx.OperationName))}
	}
	errs = distinct(errs)
	errs = errs[:min(len(errs), maxRequestErrors)]
	validation.NameArguments(opCtx, e.TokenLimit, errs)
	return exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs)
}

// Fail answers an HTTP request that was not executed with an error, and says when to try
// again where the error does.
func (e Executor) Fail(ctx context.Context, w http.ResponseWriter, mediaType string, status int, err error) {
	response.SetRetryAfter(w, err)
	response.WriteErrors(w, mediaType, status, gqlerror.List{e.Present(ctx, err)})
}

// distinct drops repeated errors: gqlparser checks a fragment alone and once more where it is used.
func distinct(errs gqlerror.List) gqlerror.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err *gqlerror.Error) bool {
		text := err.Error()
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// unknownOperation replaces gqlgen's error, which reads "operation  not found" where no name was given.
func unknownOperation(name string) *apierror.Error {
	if name == "" {
		return apierror.Invalid("operationName", "the document has several operations: name the one to run")
	}
	return apierror.Invalid("operationName", "the document has no operation of this name")
}
