package resolvers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/podlog"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// intercept is called in the place of the resolvers, which see no service: it is
// given the field and answers for it. Fields that it does not answer for, and
// that are not resolved from their object alone, fail.
type intercept map[string]func(ctx context.Context, fc *graphql.FieldContext) (any, error)

// value answers with a value.
func value(v any) func(context.Context, *graphql.FieldContext) (any, error) {
	return func(context.Context, *graphql.FieldContext) (any, error) { return v, nil }
}

// stream answers for a subscription, with some events.
func stream[T any](events ...T) func(context.Context, *graphql.FieldContext) (any, error) {
	return func(context.Context, *graphql.FieldContext) (any, error) {
		all := make(chan T, len(events))
		var out <-chan T = all
		for _, e := range events {
			all <- e
		}
		close(all)
		return out, nil
	}
}

func fromIndex() freshness.Freshness { return freshness.Freshness{Source: freshness.SourceIndex} }

// world answers for what most queries go through: one instance, one workload of
// each sort, empty lists.
func world() intercept {
	alpha := &instance.Instance{Instance: &v1alpha1.Instance{}}
	alpha.Name, alpha.Spec.Components = "alpha", &v1alpha1.InstanceComponents{APIServer: &v1alpha1.APIServerSettings{}}
	web := &index.Object{Cluster: "k-alpha", Kind: "Deployment"}
	web.Meta.Name, web.Meta.Namespace = "web", "shop"
	deployment := &workload.Deployment{Workload: &workload.Workload{Object: object.New("alpha", web, fromIndex())}}
	return intercept{
		"Query.instance":            value(alpha),
		"Query.instances":           value(page.Build(page.Args{}, []*instance.Instance{alpha}, func(*instance.Instance) string { return "c" }, false, nil, freshness.Freshness{Source: freshness.SourceLive})),
		"Query.clusters":            value(page.Unread[*cluster.Cluster]("")),
		"Query.cluster":             value(&cluster.Cluster{Cluster: &v1alpha1.Cluster{}}),
		"Query.workloads":           value(page.Build(page.Args{}, []workload.Any{deployment}, func(workload.Any) string { return "c" }, false, nil, fromIndex())),
		"Query.pods":                value(page.Build(page.Args{}, []*pod.Pod{{Object: object.New("alpha", web, fromIndex())}}, func(*pod.Pod) string { return "c" }, false, nil, fromIndex())),
		"Instance.workload":         value(deployment),
		"Instance.workloads":        value(page.Unread[workload.Any]("")),
		"Instance.overridePolicies": value(page.Unread[*policy.OverridePolicy]("")),
		"Instance.events":           value(page.Unread[*event.Event]("")),
		"Deployment.policy":         value(nil),
		"Deployment.health":         value(workload.HealthHealthy),
		"Deployment.replicas":       value(&workload.ReplicaCounts{}),
		"Deployment.placements":     value([]workload.Placement{{}}),
		"Placement.object":          value(&workload.MemberObject{}),
		"MemberObject.pods":         value([]pod.Pod{{}}),

		"Subscription.instanceChanged":   stream(&instance.Change{Object: alpha}),
		"Subscription.workloadChanged":   stream(&workload.Change{Object: deployment}),
		"Subscription.podLogs":           stream(&podlog.Event{}),
		"Subscription.operationProgress": stream(&operation.Progress{Steps: []operation.Step{{}}}),
	}
}

// with answers for more.
func (i intercept) with(more intercept) intercept {
	out := intercept{}
	for _, answers := range []intercept{i, more} {
		maps.Copy(out, answers)
	}
	return out
}

// unguarded lets everything through: there is no user here.
func unguarded(ctx context.Context, _ any, next graphql.Resolver, _ access.Check, _ *string) (any, error) {
	return next(ctx)
}

// run executes a query. Variables are JSON, as a client sends them.
func run(t *testing.T, r *Resolver, answers intercept, query, variables string) *graphql.Response {
	t.Helper()
	exec := executor.New(generated.NewExecutableSchema(generated.Config{Resolvers: r, Directives: generated.DirectiveRoot{Guard: unguarded, Observed: Observed}}))
	exec.SetRecoverFunc(func(_ context.Context, p any) error { return fmt.Errorf("panic: %v", p) })
	exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		if answer, ok := answers[fc.Object+"."+fc.Field.Name]; ok {
			return answer(ctx, fc)
		}
		return next(ctx)
	})
	params := &graphql.RawParams{Query: query}
	if variables != "" {
		dec := json.NewDecoder(bytes.NewReader([]byte(variables)))
		dec.UseNumber()
		if err := dec.Decode(&params.Variables); err != nil {
			t.Fatal(err)
		}
	}
	ctx := graphql.StartOperationTrace(t.Context())
	op, errs := exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		t.Fatalf("%s: %v", query, errs)
	}
	handler, ctx := exec.DispatchOperation(ctx, op)
	return handler(ctx)
}

// answered executes a query that has to go well.
func answered(t *testing.T, answers intercept, query, variables string) {
	t.Helper()
	if resp := run(t, &Resolver{}, answers, query, variables); len(resp.Errors) > 0 {
		t.Fatalf("%s: %v", query, resp.Errors)
	}
}
