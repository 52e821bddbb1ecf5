package main

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// tracedConfig has requests to the global cluster told in the traces that they are
// sent for.
func tracedConfig(config *rest.Config) *rest.Config {
	traced := rest.CopyConfig(config)
	traced.Wrap(tracing.Transport(tracing.ToGlobal))
	return traced
}

// countedAs has the requests that a mutation sends to an instance counted as its own.
func countedAs(ctx context.Context) context.Context {
	if !graphql.HasOperationContext(ctx) {
		return ctx
	}
	if op := graphql.GetOperationContext(ctx).Operation; op != nil && op.Operation == ast.Mutation {
		return instanceproxy.Via(ctx, instanceproxy.ViaMutation)
	}
	return ctx
}
