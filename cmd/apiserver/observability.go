package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/cmd/internal/buildversion"
	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/informers"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/reload"
	"github.com/kairship-io/kairship/pkg/requeststats"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// registerMetrics adds those of packages whose metrics are of the process.
func registerMetrics(registerer prometheus.Registerer) {
	registerer.MustRegister(slices.Concat(loaders.Metrics(), audit.Metrics(), authz.Metrics(), consistency.Metrics(), requeststats.Metrics(), reload.Collectors())...)
	registerer.MustRegister(buildversion.Metric(program, version))
}

// checkAuthn checks that the global cluster reviews tokens. It sends a constant one, not a user's.
func checkAuthn(kube kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "readiness-check-of-kairship"}}
		if _, err := kube.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil {
			return apierror.Wrap(err, apierror.CodeTimeout, "The global cluster does not review tokens: users who are not remembered cannot be let in")
		}
		return nil
	}
}

// checkInventory checks that the watches on the global cluster are held. They were
// filled before anything was served; without them, what is shown grows old.
func checkInventory(watches *informers.Persistent) func(context.Context) error {
	return func(context.Context) error {
		if !watches.Following() {
			return apierror.New(apierror.CodeTimeout, "The inventory is not followed: what is shown of instances and clusters is as old as the last answer of the global cluster")
		}
		return nil
	}
}

// operationCost says what an operation that took long had to ask for.
func operationCost(ctx context.Context) []slog.Attr {
	used := requeststats.From(ctx)
	return []slog.Attr{
		slog.Int("indexRequests", used.Requests(requeststats.Index)),
		slog.Int("instanceRequests", used.Requests(requeststats.Instance)),
	}
}

// tracedConfig adds spans for requests to the global cluster to the traces that they belong to.
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
