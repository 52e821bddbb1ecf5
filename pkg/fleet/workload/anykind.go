package workload

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// Templates of any kind, such as ConfigMaps, are explained by the functions that explain workloads. A kind that is no
// workload is treated as a custom one: its state is what Karmada records of it. It runs nothing, so it is healthy where it is
// applied, unless Karmada's interpreter reports otherwise.

// KindOfAny returns the kind of an object as that of a workload. That of an object that is no workload is the name of its
// Kubernetes kind and its group with a dot between, also where the group is empty: `ConfigMap.`.
func KindOfAny(o *index.Object) Kind {
	if kind, workload := KindOf(o); workload {
		return kind
	}
	gk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	return Kind(gk.Kind + "." + gk.Group)
}

// runsNothing reports whether objects of the kind are no workloads.
func (k Kind) runsNothing() bool { return k.Custom() && !k.Valid() }

// Propagates reports whether Karmada propagates an object where a policy selects it. What it propagates by other rules, as
// Namespaces, and what it leaves to itself, are not propagated so.
func Propagates(o *index.Object) bool {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return false
	}
	namespace := o.Meta.Namespace
	switch {
	case gv.Group == "karmada.io", strings.HasSuffix(gv.Group, ".karmada.io"), gv.Group == "events.k8s.io":
		return false
	case gv.Group == "" && (o.Kind == "Namespace" || o.Kind == "Event"):
		return false
	case strings.HasPrefix(namespace, "kube-"), strings.HasPrefix(namespace, "karmada-"):
		return false
	}
	return true
}

// OfAnyKind makes a Workload of a template of any kind, to be explained. The whole template has to be read.
func (s *Service) OfAnyKind(ctx context.Context, instance string, o *index.Object, fresh freshness.Freshness) *Workload {
	return &Workload{
		Object: object.New(instance, o, fresh), kind: KindOfAny(o), ofAnyKind: true,
		setting: &setting{instance: instance, fresh: fresh, joined: s.joined(ctx)},
	}
}

// PrefetchOfAnyKind starts reading what the explanations of some templates of any kind are computed from, and what else
// will be asked of them, each kind of it for all of them at once.
func (s *Service) PrefetchOfAnyKind(ctx context.Context, rows []*index.Object, also TemplateNeeds) {
	if len(rows) == 0 {
		return
	}
	needs := Needs{
		MemberClusters: also.MemberClusters, Overrides: also.Overrides, OverridePolicies: also.OverridePolicies, OverrideDetail: also.OverrideDetail, ObjectDetail: index.Metadata,
	}.Explained()
	keys := make([]index.Key, len(rows))
	for i, row := range rows {
		keys[i] = bindingKey(row)
	}
	s.lister.Reader.Prefetch(ctx, keys, index.Whole, func(found map[index.Key]*index.Object) {
		all := make([]placed, len(rows))
		for i, row := range rows {
			all[i].row = row
			b, err := decodeBinding(found[keys[i]])
			if err != nil {
				continue // The field that needs it says what is wrong with it.
			}
			for _, cluster := range clustersOf(b) {
				all[i].place(cluster, HealthUnknown) // It is not known yet, so the pods are read of all.
			}
		}
		p := &prefetch{service: s, ctx: ctx, needs: needs}
		p.start(all)
	})
}
