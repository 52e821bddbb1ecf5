package resolvers

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/image"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
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
	return graphql.CollectFields(op, field.Selections, everyType(field))
}

// everyType names all types that the field's value can have.
func everyType(field graphql.CollectedField) []string {
	if field.Definition == nil {
		return nil
	}
	return append([]string{field.Definition.Type.Name()}, severalTypes...)
}

// severalTypes are the interfaces of the schema and the types that have one of
// them in common with others. A fragment on a type that a field can't have is
// refused before anything is resolved, so all of them do for every field.
var severalTypes = []string{
	"Node", "Workload", "Policy", "PropagationPolicyLike", "OverridePolicyLike", "KarmadaResource",
	"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "CustomWorkload",
	"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy", "ClusterOverridePolicy",
	"FederatedHPA", "CronFederatedHPA", "MultiClusterService", "FederatedResourceQuota", "WorkloadRebalancer",
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
		if slices.Contains(names, f.Name) {
			return true
		}
	}
	return false
}

// items is the selection on the items of a connection.
func (s selection) items() selection {
	nodes, edges := s.under("nodes"), s.under("edges").under("node")
	return selection{op: s.op, fields: append(nodes.fields, edges.fields...)}
}

// wantsCount reports whether the number of all items is selected.
func wantsCount(ctx context.Context) bool { return selected(ctx).has("totalCount") }

// itemDetail is how much of a connection's objects of any kind is selected.
func itemDetail(ctx context.Context) index.Detail { return selected(ctx).itemDetail() }

func (s selection) itemDetail() index.Detail { return s.items().detail() }

// detail is how much of an object of any kind is selected.
func (s selection) detail() index.Detail {
	if s.has("manifest", "yaml", "explanation", "service", "ingress", "runs") {
		return index.Whole
	}
	return index.Metadata
}

// wholePodFields are the fields of pods that are not in their rows, but in the whole objects.
var wholePodFields = []string{"manifest", "conditions", "containers", "requests", "limits", "logs"}

// podDetail is how much of a list's pods is selected.
func (s selection) podDetail() index.Detail {
	if s.items().has(wholePodFields...) {
		return index.Whole
	}
	return index.Metadata
}

// templateDetail is how much of a workload is selected.
func (s selection) templateDetail() index.Detail {
	switch {
	case s.has("manifest", "yaml"):
		return index.Whole
	case s.has("images", "template", "schedule", "completions"):
		return index.Known
	}
	return index.Metadata
}

// briefFields are the fields of workloads that are made of their names, versions, labels and times of creation.
var briefFields = []string{"__typename", "id", "instance", "kind", "namespace", "name", "labels", "createdAt", "resourceVersion", "freshness"}

// brief reports whether no other fields of workloads are selected.
func (s selection) brief() bool {
	return !slices.ContainsFunc(s.fields, func(f graphql.CollectedField) bool { return !slices.Contains(briefFields, f.Name) })
}

// detailOf is how much of an object is selected, by what is selected below its
// field. It is asked once for the page, to read ahead, and for each object, to
// find what was read; so it does with the document as it is.
type detailOf func(ast.SelectionSet) index.Detail

// here is how much is selected below the field that is being resolved.
func (d detailOf) here(ctx context.Context) index.Detail {
	field := graphql.GetFieldContext(ctx)
	if field == nil {
		return index.Whole
	}
	return d(field.Field.Selections)
}

// under is how much is selected below the fields of some name; the least there
// is where there are none.
func (d detailOf) under(s selection, name string) index.Detail {
	detail := index.Metadata
	for _, f := range s.fields {
		if f.Name == name {
			detail = min(detail, d(f.Selections))
		}
	}
	return detail
}

// memberObjectMetadata are the fields of objects in members that metadata suffices for.
var memberObjectMetadata = []string{"__typename", "apiVersion", "kind", "namespace", "name", "uid", "pods", "createdAt", "resourceVersion", "freshness"}

// objectDetail is how much of an object in a member is selected.
func objectDetail(below ast.SelectionSet) index.Detail {
	switch {
	case selects(below, func(name string) bool { return name == "manifest" || name == "yaml" }):
		return index.Whole
	case selects(below, func(name string) bool { return !slices.Contains(memberObjectMetadata, name) }):
		return index.Known
	}
	return index.Metadata
}

// podDetail is how much of a pod of an object in a member is selected.
func podDetail(below ast.SelectionSet) index.Detail {
	if selects(below, func(name string) bool { return slices.Contains(wholePodFields, name) }) {
		return index.Whole
	}
	return index.Metadata
}

// selects reports whether a field that matches is in a selection, in whatever
// fragment of it, and whether or not a directive takes it out.
func selects(set ast.SelectionSet, match func(name string) bool) bool {
	for _, one := range set {
		switch one := one.(type) {
		case *ast.Field:
			if match(one.Name) {
				return true
			}
		case *ast.InlineFragment:
			if selects(one.SelectionSet, match) {
				return true
			}
		case *ast.FragmentSpread:
			if selects(one.Definition.SelectionSet, match) {
				return true
			}
		}
	}
	return false
}

// policyMetadata are the fields of policies that metadata suffices for.
var policyMetadata = []string{
	"__typename", "id", "instance", "namespace", "name", "labels", "annotations", "workloads",
	"createdAt", "resourceVersion", "deleting", "freshness", "viewerCan",
}

// policyDetail is how much of a policy is selected.
func policyDetail(below ast.SelectionSet) index.Detail {
	if selects(below, func(name string) bool { return !slices.Contains(policyMetadata, name) }) {
		return index.Whole
	}
	return index.Metadata
}

// connectionNeeds is what a connection of workloads will be asked for.
func connectionNeeds(ctx context.Context) workload.Needs { return selected(ctx).connectionNeeds() }

func (s selection) connectionNeeds() workload.Needs {
	needs := s.items().needs()
	needs.Count = s.has("totalCount")
	needs.Facets = s.facets()
	return needs
}

// listNeeds is what a connection of member clusters or policies will be asked for.
func listNeeds(ctx context.Context) listing.Needs { return selected(ctx).listNeeds() }

func (s selection) listNeeds() listing.Needs {
	return listing.Needs{Count: s.has("totalCount"), Facets: s.facets()}
}

// facets are what a list is counted by. What can't be read here is left to
// the field, which says what is wrong with it.
func (s selection) facets() listing.Facets {
	var all listing.Facets
	for _, f := range s.fields {
		if f.Name != "facets" {
			continue
		}
		var fields []projection.FacetField
		var first *int
		if raw := f.ArgumentMap(s.op.Variables); readArg(raw, "fields", &fields) && readArg(raw, "first", &first) {
			if one, err := listing.NewFacets(fields, first); err == nil {
				all = all.And(one)
			}
		}
	}
	return all
}

// podNeeds is what a connection of pods will be asked for.
func podNeeds(ctx context.Context) pod.Needs { return selected(ctx).podNeeds() }

func (s selection) podNeeds() pod.Needs {
	return pod.Needs{Count: s.has("totalCount"), Facets: s.facets(), Detail: s.podDetail(), MemberClusters: s.items().has("memberCluster")}
}

// imageNeeds is what a connection of images will be asked for.
func imageNeeds(ctx context.Context) image.Needs {
	s := selected(ctx)
	items := s.items()
	return image.Needs{Count: s.has("totalCount"), Workloads: items.users("workloads"), Clusters: items.users("clusters"), Workload: items.under("workloads").needs()}
}

// users is how many workloads, or clusters, of each image are selected. What can't be read here is
// left to the field, which says what is wrong with it.
func (s selection) users(name string) int {
	most := 0
	for _, f := range s.fields {
		var first *int
		if f.Name == name && readArg(f.ArgumentMap(s.op.Variables), "first", &first) {
			n, _ := image.Users(first)
			most = max(most, n)
		}
	}
	return most
}

// workloadNeeds is what one workload will be asked for.
func workloadNeeds(ctx context.Context) workload.Needs { return selected(ctx).needs() }

func (s selection) needs() workload.Needs {
	placements := s.under("placements")
	needs := workload.Needs{
		Template:         s.templateDetail(),
		Brief:            s.brief(),
		Policy:           s.has("policy"),
		PolicyDetail:     detailOf(policyDetail).under(s, "policy"),
		Binding:          s.has("binding"),
		Status:           s.has("replicas", "health", "healthMessage", "suspended", "placements", "overridePolicies", "logs", "usage"),
		MemberClusters:   placements.has("memberCluster") || placements.under("object").under("pods").has("memberCluster"),
		Overrides:        s.has("overridePolicies") || placements.has("overrides"),
		OverridePolicies: s.has("overridePolicies") || placements.under("overrides").has("policy"),
		OverrideDetail:   min(detailOf(policyDetail).under(s, "overridePolicies"), detailOf(policyDetail).under(placements.under("overrides"), "policy")),
		Objects:          placements.has("object", "drift") || s.has("logs", "usage"),
		ObjectDetail:     detailOf(objectDetail).under(placements, "object"),
		Pods:             placements.under("object").has("pods") || s.has("logs", "usage"),
		PodDetail:        detailOf(podDetail).under(placements.under("object"), "pods"),
		Events:           s.events(),
	}
	if s.has("logs", "usage") {
		needs.PodDetail = index.Whole
	}
	if placements.has("drift") {
		needs.Drift, needs.ObjectDetail = true, index.Whole
	}
	if s.has("explanation") {
		return needs.Explained()
	}
	return needs
}

// templateNeeds is what objects of any kind will be asked for about where they go.
func (s selection) templateNeeds() workload.TemplateNeeds {
	placements := s.under("placements")
	overrides := s.has("overridePolicies") || placements.has("overrides")
	return workload.TemplateNeeds{
		Policy:           s.has("policy"),
		PolicyDetail:     detailOf(policyDetail).under(s, "policy"),
		Binding:          s.has("binding", "placements", "overridePolicies", "logs"),
		MemberClusters:   placements.has("memberCluster"),
		Overrides:        overrides,
		OverridePolicies: s.has("overridePolicies") || placements.under("overrides").has("policy"),
		OverrideDetail:   min(detailOf(policyDetail).under(s, "overridePolicies"), detailOf(policyDetail).under(placements.under("overrides"), "policy")),
	}
}

// events are the pages of events that are selected on a workload. What can't be
// read here is left to the field, which says what is wrong with it.
func (s selection) events() []event.Wanted {
	var all []event.Wanted
	for _, f := range s.fields {
		if f.Name != "events" {
			continue
		}
		w := event.Wanted{Count: selection{op: s.op, fields: below(s.op, f)}.has("totalCount")}
		if raw := f.ArgumentMap(s.op.Variables); readArg(raw, "first", &w.Args.First) && readArg(raw, "after", &w.Args.After) {
			all = append(all, w)
		}
	}
	return all
}
