package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

func pageArgs(first *int, after *string) page.Args { return page.Args{First: first, After: after} }

func listArgs(first *int, after *string, f *workload.Filter, order *workload.Order) workload.ListArgs {
	return workload.ListArgs{Args: pageArgs(first, after), Filter: f, Order: order}
}

func kindOf(group, version, plural string) resource.Kind {
	return resource.Kind{Group: group, Version: version, Resource: plural}
}

// inNamespace joins the argument namespace into the filter.
func inNamespace(f *resource.Filter, namespace *string) (*resource.Filter, error) {
	if namespace == nil {
		return f, nil
	}
	joined := resource.Filter{}
	if f != nil {
		joined = *f
	}
	if joined.Namespaces != nil {
		return nil, apierror.Invalid("filter.namespaces", "Give either the argument namespace or filter.namespaces")
	}
	joined.Namespaces = []string{*namespace}
	return &joined, nil
}

// sent is the value at a path of the arguments of the field that is being resolved, as
// it was sent: in it, a field that is null differs from one that is left out.
func sent(ctx context.Context, path ...string) any {
	field := graphql.GetFieldContext(ctx)
	if field == nil || !graphql.HasOperationContext(ctx) {
		return nil
	}
	var value any = field.Field.ArgumentMap(graphql.GetOperationContext(ctx).Variables)
	for _, name := range path {
		in, _ := value.(map[string]any)
		value = in[name]
	}
	return value
}

func viewer(ctx context.Context) (*authz.User, error) {
	u, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	return &u, nil
}
