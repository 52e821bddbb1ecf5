package execution

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// AroundRootField notes which fields of queries and mutations have a value, makes
// their spans, and counts mutations by their outcome.
func AroundRootField(metrics *telemetry.Metrics) graphql.RootFieldMiddleware {
	return func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		op := graphql.GetOperationContext(ctx).Operation
		if op == nil || op.Operation == ast.Subscription {
			return next(ctx)
		}
		field := graphql.GetRootFieldContext(ctx).Field
		ctx, span := tracing.Start(ctx, string(op.Operation)+"."+field.Name, tracing.Internal)
		defer span.End()
		if op.Operation != ast.Mutation {
			result := next(ctx)
			telemetry.From(ctx).SetRootField(result != graphql.Null)
			return result
		}
		result := mutate(ctx, field, next)
		done := result != graphql.Null
		telemetry.From(ctx).SetRootField(done)
		metrics.Mutated(field.Name, !done)
		if !done {
			span.Fail("failed")
		}
		return result
	}
}

// mutate runs a mutation, unless the operation has ended while an earlier one ran:
// its caller gets an error then, because nothing of this one was done.
func mutate(ctx context.Context, field graphql.CollectedField, next graphql.RootResolver) graphql.Marshaler {
	if ctx.Err() == nil {
		return next(ctx)
	}
	graphql.AddError(ctx, &gqlerror.Error{
		Err:       apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the deadline of the request passed before this mutation began: it changed nothing"),
		Path:      ast.Path{ast.PathName(field.Alias)},
		Locations: []gqlerror.Location{{Line: field.Position.Line, Column: field.Position.Column}},
	})
	return graphql.Null
}
