package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/tracing"
	"github.com/kairship-io/kairship/pkg/upstream"
)

// registerMetrics adds those of packages whose metrics are of the process.
func registerMetrics(registerer prometheus.Registerer) {
	registerer.MustRegister(slices.Concat(loaders.Metrics(), audit.Metrics(), authz.Metrics(), consistency.Metrics(), upstream.Metrics())...)
}

// operationCost says what an operation that took long had to ask for.
func operationCost(ctx context.Context) []slog.Attr {
	used := upstream.From(ctx)
	return []slog.Attr{
		slog.Int("indexRequests", used.Requests(upstream.Index)),
		slog.Int("instanceRequests", used.Requests(upstream.Instance)),
	}
}

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
