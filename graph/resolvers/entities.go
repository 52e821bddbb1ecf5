package resolvers

import (
	"context"
	"fmt"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/model"
	"github.com/kairship-io/kairship/graph/sdl"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

var _ generated.FederationResolver = (*Resolver)(nil)

// maxRepresentations bounds what one request may name. A router asks for all
// entities of a list at once, and no list of ours has pages of more than 500.
const maxRepresentations = 1000

// Entities implements generated.FederationResolver. All entities of a type are read in one batch,
// with the fields selected on them; then each is resolved like the node of an ID, with the same
// checks, so that a hidden one is null like one that no longer exists.
func (r *Resolver) Entities(ctx context.Context, representations []any) ([]model.Entity, error) {
	if len(representations) > maxRepresentations {
		return nil, apierror.Invalid("representations", "Give at most %d representations at a time", maxRepresentations)
	}
	references := make([]nodeid.ID, len(representations))
	named := map[string][][]string{}
	for i, representation := range representations {
		id, err := referenceOf(fmt.Sprintf("representations[%d]", i), representation)
		if err != nil {
			addErrorAt(ctx, i, err)
			continue
		}
		references[i] = id
		named[id.Type] = append(named[id.Type], id.Parts)
	}
	for typ, parts := range named {
		r.prefetchEntities(ctx, typ, parts)
	}
	needs := selectedOn(ctx, entityTypes[workload.TypeName]).needs()
	entities := make([]model.Entity, len(references))
	for i, id := range references {
		if id.Type == "" {
			continue
		}
		entity, err := r.entity(ctx, id, needs)
		if err != nil {
			addErrorAt(ctx, i, err)
		} else if entity != nil {
			entities[i] = entity
		}
	}
	return entities, nil
}

// addErrorAt adds an error at an item of the list that is being resolved.
func addErrorAt(ctx context.Context, i int, err error) {
	graphql.AddError(graphql.WithPathContext(ctx, graphql.NewPathWithIndex(i)), err)
}

func (r *Resolver) entity(ctx context.Context, id nodeid.ID, needs workload.Needs) (model.Node, error) {
	if id.Type == workload.TypeName {
		// The finder would take what is selected on entities of other types for what is selected on this one.
		return r.workloadNode(ctx, id.Parts, needs)
	}
	return finders[id.Type].find(r, ctx, id.Parts)
}

// entityTypes are the types that a fragment on entities can be on, by the type of
// their IDs.
var entityTypes = map[string][]string{
	instance.TypeName:          {"Instance"},
	membercluster.TypeName:     {"MemberCluster"},
	namespace.TypeName:         {"Namespace"},
	workload.TypeName:          {"Workload", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "CustomWorkload"},
	"PropagationPolicy":        {"Policy", "PropagationPolicyLike", "PropagationPolicy"},
	"ClusterPropagationPolicy": {"Policy", "PropagationPolicyLike", "ClusterPropagationPolicy"},
}

// selectedOn is what is selected on those items of the field that is being resolved
// that are of some types.
func selectedOn(ctx context.Context, types []string) selection {
	field := graphql.GetFieldContext(ctx)
	if field == nil || !graphql.HasOperationContext(ctx) {
		return selection{}
	}
	op := graphql.GetOperationContext(ctx)
	of := append([]string{field.Field.Definition.Type.Name(), "Node"}, types...)
	return selection{op: op, fields: graphql.CollectFields(op, field.Field.Selections, of)}
}

// prefetchEntities starts reading entities by the parts of their IDs, and the fields selected on
// them. The clusters of the inventory are in a cache.
func (r *Resolver) prefetchEntities(ctx context.Context, typ string, parts [][]string) {
	on := selectedOn(ctx, entityTypes[typ])
	switch typ {
	case instance.TypeName:
		r.prefetch(ctx, r.known(ctx, parts), on)
	case membercluster.TypeName:
		r.Fleet.MemberClusters.PrefetchNamed(ctx, clusterScoped(parts))
	case namespace.TypeName:
		r.Fleet.Namespaces.PrefetchNamed(ctx, clusterScoped(parts))
	case workload.TypeName:
		named := make([]workload.Named, len(parts))
		for i, p := range parts {
			named[i] = workload.Named{Instance: p[0], Kind: workload.Kind(p[1]), Namespace: p[2], Name: p[3]}
		}
		r.Fleet.Workloads.PrefetchNamed(ctx, named, on.needs())
	case "PropagationPolicy":
		r.Fleet.Policies.Propagation.PrefetchNamed(ctx, namespaced(parts), r.prefetchClaimed(ctx, on))
	case "ClusterPropagationPolicy":
		r.Fleet.Policies.ClusterPropagation.PrefetchNamed(ctx, namespaced(parts), r.prefetchClaimed(ctx, on))
	case "OverridePolicy":
		r.Fleet.Policies.Override.PrefetchNamed(ctx, namespaced(parts), nil)
	case "ClusterOverridePolicy":
		r.Fleet.Policies.ClusterOverride.PrefetchNamed(ctx, namespaced(parts), nil)
	}
}

// known are the names of those instances that there are.
func (r *Resolver) known(ctx context.Context, parts [][]string) []string {
	names := make([]string, 0, len(parts))
	for _, p := range parts {
		if i, err := r.Fleet.Instances.Get(ctx, p[0]); err == nil && i != nil {
			names = append(names, i.Name)
		}
	}
	return names
}

// namespaced are the names in the parts of IDs: instance, namespace, name.
func namespaced(parts [][]string) []object.Name {
	named := make([]object.Name, len(parts))
	for i, p := range parts {
		named[i] = object.Name{Instance: p[0], Namespace: p[1], Name: p[2]}
	}
	return named
}

// clusterScoped are the names in the parts of IDs: instance, name.
func clusterScoped(parts [][]string) []object.Name {
	named := make([]object.Name, len(parts))
	for i, p := range parts {
		named[i] = object.Name{Instance: p[0], Name: p[1]}
	}
	return named
}

// publishedSDL is the schema as composition takes it.
var publishedSDL = sync.OnceValue(func() string {
	return sdl.Print(generated.NewExecutableSchema(generated.Config{}).Schema())
})

// Subgraph implements generated.FederationResolver. It returns the schema like introspection does,
// so it is disabled with it.
func (r *Resolver) Subgraph(ctx context.Context) (model.Subgraph, error) {
	if graphql.GetOperationContext(ctx).DisableIntrospection {
		return model.Subgraph{}, apierror.New(apierror.CodeInvalid,
			"introspection is switched off on this server; compose the schema that is published with each release")
	}
	return model.Subgraph{SDL: publishedSDL()}, nil
}
