package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// Looking ahead: what a selection will ask for decides what is read, and lets
// it be read in one go. Everything here only ever makes reads fewer or smaller;
// a field that it overlooks is still resolved, by a read of its own.

// selection is what is selected below one or more fields.
type selection struct {
	op     *graphql.OperationContext
	fields []graphql.CollectedField
}

// selected is what is selected below the field that is being resolved.
func selected(ctx context.Context) selection {
	field := graphql.GetFieldContext(ctx)
	if field == nil || !graphql.HasOperationContext(ctx) {
		return selection{}
	}
	op := graphql.GetOperationContext(ctx)
	return selection{op: op, fields: below(op, field.Field)}
}

// below collects the selection of a field over all its fragments, whichever of
// the possible types they are for.
func below(op *graphql.OperationContext, field graphql.CollectedField) []graphql.CollectedField {
	return graphql.CollectFields(op, field.Selections, everyType(op, field))
}

// everyType names all types that the field's value can have.
func everyType(op *graphql.OperationContext, field graphql.CollectedField) []string {
	if field.Definition == nil {
		return nil
	}
	name := field.Definition.Type.Name()
	types := []string{name, "Node", "Workload", "PropagationPolicyLike", "OverridePolicyLike"}
	if name == "Workload" || name == "Node" {
		types = append(types, "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
	}
	return types
}

// under is the selection below the fields of some name.
func (s selection) under(name string) selection {
	out := selection{op: s.op}
	for _, f := range s.fields {
		if f.Name == name {
			out.fields = append(out.fields, below(s.op, f)...)
		}
	}
	return out
}

func (s selection) has(names ...string) bool {
	for _, f := range s.fields {
		for _, name := range names {
			if f.Name == name {
				return true
			}
		}
	}
	return false
}

// items is the selection on the items of a connection.
func (s selection) items() selection {
	nodes, edges := s.under("nodes"), s.under("edges").under("node")
	return selection{op: s.op, fields: append(nodes.fields, edges.fields...)}
}

// wantsCount tells that the number of all items is selected.
func wantsCount(ctx context.Context) bool { return selected(ctx).has("totalCount") }

// metadataOnly tells that nothing but metadata is selected on the items.
func metadataOnly(ctx context.Context) bool { return selected(ctx).metadataOnly() }

func (s selection) metadataOnly() bool { return !s.items().has("manifest", "yaml") }

// connectionNeeds is what a connection of workloads will be asked for.
func connectionNeeds(ctx context.Context) workload.Needs { return selected(ctx).connectionNeeds() }

func (s selection) connectionNeeds() workload.Needs {
	needs := s.items().needs()
	needs.Count = s.has("totalCount")
	return needs
}

// workloadNeeds is what one workload will be asked for.
func workloadNeeds(ctx context.Context) workload.Needs { return selected(ctx).needs() }

func (s selection) needs() workload.Needs {
	placements := s.under("placements")
	return workload.Needs{
		Manifest:       s.has("images", "manifest", "yaml", "schedule", "completions"),
		Policy:         s.has("policy"),
		Binding:        s.has("binding"),
		Status:         s.has("replicas", "health", "healthMessage", "suspended", "placements", "overridePolicies"),
		MemberClusters: placements.has("memberCluster"),
		Overrides:      s.has("overridePolicies") || placements.has("overrides"),
		Pods:           placements.under("object").has("pods"),
	}
}
