package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// selectorsOf are the resource selectors of a policy.
func (i item) selectorsOf() []policyv1alpha1.ResourceSelector {
	switch p := i.Object.(type) {
	case *policyv1alpha1.PropagationPolicy:
		return p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterPropagationPolicy:
		return p.Spec.ResourceSelectors
	case *policyv1alpha1.OverridePolicy:
		return p.Spec.ResourceSelectors
	case *policyv1alpha1.ClusterOverridePolicy:
		return p.Spec.ResourceSelectors
	}
	return nil
}

// selectingBy returns a function that reports whether a policy has a selector that matches.
func selectingBy(match func(s policyv1alpha1.ResourceSelector) bool) func(item) bool {
	return func(i item) bool { return slices.ContainsFunc(i.selectorsOf(), match) }
}

// sendsTo reports whether the affinities of a policy of the suite or the samples match a member cluster, which has
// none of the labels that these select.
func (i item) sendsTo(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		matches := func(a *policyv1alpha1.ClusterAffinity) bool {
			return a == nil || karmadautil.ClusterMatches(cluster, *a)
		}
		rules := func(spec *policyv1alpha1.OverrideSpec) bool {
			return slices.ContainsFunc(spec.OverrideRules, func(r policyv1alpha1.RuleWithCluster) bool { return matches(r.TargetCluster) })
		}
		switch p := i.Object.(type) {
		case *policyv1alpha1.PropagationPolicy:
			return matches(p.Spec.Placement.ClusterAffinity)
		case *policyv1alpha1.ClusterPropagationPolicy:
			return matches(p.Spec.Placement.ClusterAffinity)
		case *policyv1alpha1.OverridePolicy:
			return rules(&p.Spec)
		case *policyv1alpha1.ClusterOverridePolicy:
			return rules(&p.Spec)
		}
		return false
	})
}

// specCases are the cases of filters by the specs of policies.
func (w *world) specCases() []filterCase {
	deployments := func(more map[string]any) map[string]any {
		return map[string]any{"filter": map[string]any{"selects": with(more, "kind", "Deployment")}}
	}
	deployment := func(match func(i item, s policyv1alpha1.ResourceSelector) bool) func(item) bool {
		return func(i item) bool {
			return slices.ContainsFunc(i.selectorsOf(), func(s policyv1alpha1.ResourceSelector) bool { return s.Kind == "Deployment" && match(i, s) })
		}
	}
	in := func(namespace string) func(item, policyv1alpha1.ResourceSelector) bool {
		return func(i item, s policyv1alpha1.ResourceSelector) bool {
			return (i.GetNamespace() == "" || i.GetNamespace() == namespace) && (s.Namespace == "" || s.Namespace == namespace)
		}
	}
	named := func(_ item, s policyv1alpha1.ResourceSelector) bool { return s.Name == "" || s.Name == "web" }
	labelled := func(mix string) func(item, policyv1alpha1.ResourceSelector) bool {
		return func(_ item, s policyv1alpha1.ResourceSelector) bool {
			return s.Name != "" || s.LabelSelector == nil || s.LabelSelector.MatchLabels["mix"] == mix
		}
	}
	labels := func(mix string) []any { return []any{map[string]any{"key": "mix", "value": mix}} }
	to := func(names ...string) func(item) bool { return func(i item) bool { return i.sendsTo(names...) } }
	kind := func(kind string) func(item) bool {
		return selectingBy(func(s policyv1alpha1.ResourceSelector) bool { return s.Kind == kind })
	}
	return []filterCase{
		{argument: "filter.selects.kind", value: "Deployment", match: kind("Deployment"), why: "one kind"},
		{argument: "filter.selects.kind", value: "StatefulSet", match: kind("StatefulSet"), why: "another kind"},
		{argument: "filter.selects.kind", value: "deployment", match: nothing, why: "Karmada compares letters by case"},
		{argument: "filter.selects.apiVersion", value: "apps/v1", more: deployments(nil), match: kind("Deployment"), why: "the version"},
		{argument: "filter.selects.apiVersion", value: "apps/v2", more: deployments(nil), match: nothing, why: "another version"},
		{argument: "filter.selects.namespace", value: w.a, more: deployments(nil), match: deployment(in(w.a)), why: "objects in a namespace"},
		{argument: "filter.selects.namespace", value: w.b, more: deployments(nil), match: deployment(in(w.b)), why: "objects in another namespace"},
		{argument: "filter.selects.name", value: "web", more: deployments(nil), match: deployment(named), why: "by name or of any name"},
		{argument: "filter.selects.labels", value: labels("yes"), more: deployments(nil), match: deployment(labelled("yes")), why: "by label, or not by label"},
		{argument: "filter.selects.labels", value: labels("no"), more: deployments(nil), match: deployment(labelled("no")), why: "not by this label"},
		{argument: "filter.selects.labels", value: []any{}, more: deployments(nil), match: deployment(labelled("")), why: "objects without labels"},
		{
			argument: "filter.selects.labels", value: labels("yes"), more: map[string]any{"filter": map[string]any{"selects": map[string]any{"kind": "NoSuchKind"}}},
			match: nothing, why: "no policy selects such objects, whatever their labels",
		},
		{argument: "filter.cluster", value: []string{"m1"}, match: to("m1"), why: "one member"},
		{argument: "filter.cluster", value: []string{"m2"}, match: to("m2"), why: "another member"},
		{argument: "filter.cluster", value: []string{"m2", "none-such"}, match: to("m2"), why: "values are joined by OR"},
		{argument: "filter.cluster", value: []string{"none-such"}, match: nothing, why: "it is not joined"},
		{argument: "filter.cluster", value: []string{"m3"}, match: nothing, why: "it is joined to another instance"},
		{argument: "filter.cluster", value: []string{}, match: nothing, why: "no member at all"},
		{
			argument: "filter.cluster", value: []string{"m2"}, more: deployments(map[string]any{"namespace": w.a}), why: "fields are joined by AND",
			match: func(i item) bool { return i.sendsTo("m2") && deployment(in(w.a))(i) },
		},
	}
}

// property is what a filter of clusters or nodes selects by.
type property struct {
	provider, region, version string
	zones                     []string
	ready, unschedulable      bool
	taints                    []corev1.Taint
}

func (i item) property() property {
	var p property
	switch c := i.Object.(type) {
	case *kairshipv1alpha1.Cluster:
		p = property{provider: c.Spec.Provider, region: c.Spec.Region, version: c.Status.KubernetesVersion, ready: meta.IsStatusConditionTrue(c.Status.Conditions, kairshipv1alpha1.ConditionReady)}
		if c.Spec.Zone != "" {
			p.zones = []string{c.Spec.Zone}
		}
	case *clusterv1alpha1.Cluster:
		p = property{
			provider: c.Spec.Provider, region: c.Spec.Region, version: c.Status.KubernetesVersion, zones: c.Spec.Zones, taints: c.Spec.Taints,
			ready: meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady),
		}
	case *corev1.Node:
		p = property{version: c.Status.NodeInfo.KubeletVersion, taints: c.Spec.Taints, unschedulable: c.Spec.Unschedulable}
		p.ready = slices.ContainsFunc(c.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	}
	return p
}

// nodeCases are the cases of the nodes of m1.
func (w *world) nodeCases() []filterCase {
	by := func(match func(p property) bool) func(item) bool {
		return func(i item) bool { return match(i.property()) }
	}
	return slices.Concat(w.naming(everything, "suite-"+w.id+"-n-07", w.id+"-n-1"), labelCases("suite="+w.id, "!suite"), taintCases(), []filterCase{
		{argument: "filter.ready", value: true, match: by(func(p property) bool { return p.ready }), why: "those that are ready"},
		{argument: "filter.ready", value: false, match: by(func(p property) bool { return !p.ready }), why: "those that are not"},
		{argument: "filter.unschedulable", value: true, match: by(func(p property) bool { return p.unschedulable }), why: "those that take no pods"},
		{argument: "filter.unschedulable", value: false, match: by(func(p property) bool { return !p.unschedulable }), why: "those that take pods"},
		{argument: "filter.kubeletVersion", value: []string{"v1.", "kwok-"}, match: by(func(p property) bool {
			return strings.HasPrefix(p.version, "v1.") || strings.HasPrefix(p.version, "kwok-")
		}), why: "the beginning"},
		{argument: "filter.kubeletVersion", value: []string{"9"}, match: nothing, why: "no node has it"},
	})
}

// propertyCases are the cases of filters by the properties of clusters.
func propertyCases() []filterCase {
	by := func(match func(p property) bool) func(item) bool {
		return func(i item) bool { return match(i.property()) }
	}
	return []filterCase{
		{argument: "filter.provider", value: []string{"suite", "none-such"}, match: by(func(p property) bool { return p.provider == "suite" }), why: "values are joined by OR"},
		{argument: "filter.provider", value: []string{""}, match: by(func(p property) bool { return p.provider == "" }), why: "an empty text stands for none"},
		{argument: "filter.provider", value: []string{}, match: nothing, why: "no provider at all"},
		{argument: "filter.region", value: []string{"north"}, match: by(func(p property) bool { return p.region == "north" }), why: "one region"},
		{argument: "filter.region", value: []string{"nor"}, match: nothing, why: "a part is another region"},
		{argument: "filter.zone", value: []string{"z1"}, match: by(func(p property) bool { return slices.Contains(p.zones, "z1") }), why: "one zone"},
		{argument: "filter.zone", value: []string{""}, match: by(func(p property) bool { return len(p.zones) == 0 }), why: "an empty text stands for none"},
		{argument: "filter.kubernetesVersion", value: []string{"v1."}, match: by(func(p property) bool { return strings.HasPrefix(p.version, "v1.") }), why: "the beginning"},
		{argument: "filter.kubernetesVersion", value: []string{"9", ""}, match: by(func(p property) bool { return p.version == "" }), why: "one that is not known"},
		{argument: "filter.ready", value: true, match: by(func(p property) bool { return p.ready }), why: "those that are ready"},
		{argument: "filter.ready", value: false, match: by(func(p property) bool { return !p.ready }), why: "those that are not"},
		{argument: "filter.ready", value: nil, match: everything, why: "null is no filter"},
	}
}

// taintCases are the cases of filters by taints.
func taintCases() []filterCase {
	by := func(match func(t corev1.Taint) bool) func(item) bool {
		return func(i item) bool { return slices.ContainsFunc(i.property().taints, match) }
	}
	keyed := map[string]any{"filter": map[string]any{"taint": map[string]any{"key": "suite"}}}
	return []filterCase{
		{argument: "filter.taint.key", value: "suite", match: by(func(t corev1.Taint) bool { return t.Key == "suite" }), why: "any value and effect"},
		{argument: "filter.taint.key", value: "none-such", match: nothing, why: "no cluster has it"},
		{argument: "filter.taint.value", value: "left", more: keyed, match: by(func(t corev1.Taint) bool { return t.Key == "suite" && t.Value == "left" }), why: "one value"},
		{argument: "filter.taint.value", value: "", more: keyed, match: nothing, why: "each has a value"},
		{argument: "filter.taint.effect", value: "NoSchedule", more: keyed, match: by(func(t corev1.Taint) bool { return t.Key == "suite" && t.Effect == "NoSchedule" }), why: "one effect"},
		{argument: "filter.taint.effect", value: "PreferNoSchedule", more: keyed, match: nothing, why: "none has this effect"},
	}
}

// memoryFacets are the facets that are counted in memory, by the type that is listed, with the values that an item
// counts under.
var memoryFacets = map[string]map[string]func(item) []string{
	"Cluster": clusterFacets, "MemberCluster": clusterFacets,
	"PropagationPolicy": policyFacets, "ClusterPropagationPolicy": policyFacets, "OverridePolicy": policyFacets, "ClusterOverridePolicy": policyFacets,
}

var clusterFacets = map[string]func(item) []string{
	"PROVIDER":           func(i item) []string { return unlessEmpty(i.property().provider) },
	"REGION":             func(i item) []string { return unlessEmpty(i.property().region) },
	"ZONE":               func(i item) []string { return i.property().zones },
	"KUBERNETES_VERSION": func(i item) []string { return unlessEmpty(i.property().version) },
	"READY":              func(i item) []string { return []string{strconv.FormatBool(i.property().ready)} },
}

var policyFacets = map[string]func(item) []string{
	"SELECTED_KIND": func(i item) []string {
		var kinds []string
		for _, s := range i.selectorsOf() {
			kinds = append(kinds, s.Kind)
		}
		slices.Sort(kinds)
		return slices.Compact(kinds)
	},
	"NAMESPACE": func(i item) []string { return unlessEmpty(i.GetNamespace()) },
}

func unlessEmpty(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}

// TestFacetsInMemory: under every filter of every list of clusters and policies, the facets count what the clusters
// say that is in the list, on whatever page.
func TestFacetsInMemory(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	for _, list := range schema.Lists(theSchema) {
		fields := memoryFacets[list.Node]
		if fields == nil {
			continue
		}
		names := slices.Sorted(maps.Keys(fields))
		r := w.filterRoute(t, list)
		query := r.query(list, "{ facets(fields: ["+strings.Join(names, ", ")+"], first: 100) { field values { value count } totalValues } nodes { __typename } pageInfo { hasNextPage } }")
		for _, c := range w.casesOf(list) {
			t.Run(fmt.Sprintf("%s/%s=%v", list.Key(), c.argument, w.short(fmt.Sprint(c.value))), func(t *testing.T) {
				variables := with(c.more, "first", 1)
				set(variables, c.argument, c.value)
				poll.Until(t, soon, "the facets count what the clusters say", func(ctx context.Context) error {
					all, err := w.items(ctx, t, list)
					if err != nil {
						return err
					}
					values := map[string][]string{}
					for field, of := range fields {
						values[field] = []string{}
						for _, i := range all {
							if c.match(i) {
								values[field] = append(values[field], of(i)...)
							}
						}
					}
					got, err := pageOf(ctx, on.kairship, query, append(slices.Clone(r.path), list.Field.Name), variables)
					if err != nil {
						return err
					}
					if diff := gocmp.Diff(facetsOf(names, values), got.Facets); diff != "" {
						return fmt.Errorf("the clusters say -, Kairship says +:\n%s", diff)
					}
					return nil
				})
			})
		}
	}
}

// TestListsBySpecCostTheSame: what is selected and counted in memory costs one request, and one more for member
// clusters that policies are selected by, however many there are and in however many instances.
func TestListsBySpecCostTheSame(t *testing.T) {
	on := open(t)
	theWorld(t)
	for _, tt := range []struct {
		list string
		want int
	}{
		{`propagationPolicies(first: %d, filter: {selects: {kind: "Deployment"}}) { totalCount facets(fields: [SELECTED_KIND, NAMESPACE]) { totalValues } nodes { name } }`, 1},
		{`overridePolicies(first: %d, filter: {selects: {kind: "Deployment"}, cluster: ["m1", "m2"]}) { totalCount facets(fields: [NAMESPACE]) { totalValues } nodes { name } }`, 2},
		{`memberClusters(first: %d, filter: {ready: false, taint: {key: "suite"}}) { totalCount facets(fields: [ZONE, READY]) { totalValues } nodes { name } }`, 1},
	} {
		for _, first := range []int{1, fifty} {
			list := fmt.Sprintf(tt.list, first)
			for _, query := range []string{`{ instance(name: "alpha") { ` + list + ` } }`, `{ instances(filter: {name: ["alpha", "beta"]}) { nodes { ` + list + ` } } }`} {
				if n := coldCost(t, on.kairship, query, nil); n != tt.want {
					t.Errorf("%s costs %d requests, want %d", query, n, tt.want)
				}
			}
		}
	}
	if n := coldCost(t, on.kairship, `{ clusters(filter: {ready: true}) { facets(fields: [PROVIDER]) { totalValues } nodes { name } } }`, nil); n != 0 {
		t.Errorf("a list of the inventory costs %d requests", n)
	}
}
