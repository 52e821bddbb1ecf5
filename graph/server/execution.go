package server

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
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
	quotas      *quotas
	origins     *origins
}

// beginning takes what a request brings beside its operation, and returns the context
// of the operation; nil for nothing.
type beginning func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)

// single executes an operation with one response, within the deadline. Without a
// response, the error says why.
func (e execution) single(ctx context.Context, exec graphql.GraphExecutor, opCtx *graphql.OperationContext, headers http.Header) (*graphql.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if e.begin != nil {
		begun, err := e.begin(ctx, headers, opCtx.Extensions)
		if err != nil {
			return nil, err
		}
		ctx = begun
	}
	user, _ := authz.UserFrom(ctx)
	responses, ctx := exec.DispatchOperation(ctx, opCtx)
	resp := responses(ctx)
	if resp == nil {
		e.quotas.charge(user.Name, spent(0, upstream.From(ctx)))
		// gqlgen gives no response when the context ended before execution began.
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the deadline of the request passed before it was begun")
	}
	e.quotas.charge(user.Name, spent(len(resp.Data), upstream.From(ctx)))
	requestFrom(ctx).noteResult(resp.Data)
	return resp, nil
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
