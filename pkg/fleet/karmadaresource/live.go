package karmadaresource

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// KindName is one of the kinds.
type KindName string

// The kinds.
const (
	KindFederatedHPA           KindName = "FEDERATED_HPA"
	KindCronFederatedHPA       KindName = "CRON_FEDERATED_HPA"
	KindMultiClusterService    KindName = "MULTI_CLUSTER_SERVICE"
	KindFederatedResourceQuota KindName = "FEDERATED_RESOURCE_QUOTA"
	KindWorkloadRebalancer     KindName = "WORKLOAD_REBALANCER"
)

var kindTypes = []struct {
	kind KindName
	of   index.Type
}{
	{KindFederatedHPA, index.FederatedHPAs},
	{KindCronFederatedHPA, index.CronFederatedHPAs},
	{KindMultiClusterService, index.MultiClusterServices},
	{KindFederatedResourceQuota, index.FederatedResourceQuotas},
	{KindWorkloadRebalancer, index.WorkloadRebalancers},
}

// Change is an event of a subscription to the objects.
type Change = changes.Event[Any]

// ChangeFilter says which objects to follow.
type ChangeFilter struct {
	Instances     []string
	Kinds         []KindName
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
}

// Types returns the types that the filter selects.
func (f *ChangeFilter) Types() []index.Type {
	var types []index.Type
	for _, k := range kindTypes {
		if f == nil || f.Kinds == nil || slices.Contains(f.Kinds, k.kind) {
			types = append(types, k.of)
		}
	}
	return types
}

// Listing is the part of the filter that all nouns have.
func (f *ChangeFilter) Listing() listing.Filter {
	if f == nil {
		return listing.Filter{}
	}
	return listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Of are the instances of the filter; nil for all.
func (f *ChangeFilter) Of() []string {
	if f == nil {
		return nil
	}
	return f.Instances
}

// New makes the object of any of the kinds.
func New(instance string, o *index.Object, fresh freshness.Freshness) (Any, error) {
	switch o.Kind {
	case index.FederatedHPAs.Kind:
		return decoded(newFederatedHPA)(instance, o, fresh)
	case index.CronFederatedHPAs.Kind:
		return decoded(newCronFederatedHPA)(instance, o, fresh)
	case index.MultiClusterServices.Kind:
		return decoded(newMultiClusterService)(instance, o, fresh)
	case index.FederatedResourceQuotas.Kind:
		return decoded(newFederatedResourceQuota)(instance, o, fresh)
	}
	return decoded(newWorkloadRebalancer)(instance, o, fresh)
}

// Fields are the fields of an object that can change. What only some kinds have is nil for the others.
func Fields() []changes.Field[Any] {
	return append(changes.ObjectFields(func(a Any) *object.Object { return &a.Common().Object }), []changes.Field[Any]{
		{Name: "deleting", Of: func(a Any) any { return a.Common().Deleting() }},
		{Name: "spec", Of: specOf},
		{Name: "conditions", Of: conditionsOf},
		{Name: "currentReplicas", Of: of(func(h *FederatedHPA) any { return h.CurrentReplicas() })},
		{Name: "desiredReplicas", Of: of(func(h *FederatedHPA) any { return h.DesiredReplicas() })},
		{Name: "metrics", Of: of(func(h *FederatedHPA) any { return h.Metrics() })},
		{Name: "lastScaleTime", Of: of(func(h *FederatedHPA) any { return h.LastScaleTime() })},
		{Name: "executionHistories", Of: of(func(c *CronFederatedHPA) any { return c.ExecutionHistories() })},
		{Name: "loadBalancerIngress", Of: of(func(m *MultiClusterService) any { return m.LoadBalancerIngress() })},
		{Name: "overall", Of: of(func(q *FederatedResourceQuota) any { return q.Overall() })},
		{Name: "clusters", Of: of(func(q *FederatedResourceQuota) any { return q.Clusters() })},
		{Name: "observedWorkloads", Of: of(func(r *WorkloadRebalancer) any { return r.ObservedWorkloads() })},
		{Name: "finishTime", Of: of(func(r *WorkloadRebalancer) any { return r.FinishTime() })},
	}...)
}

// of is a field of one kind; nil for the others.
func of[T Any](field func(T) any) func(Any) any {
	return func(a Any) any {
		if one, ok := a.(T); ok {
			return field(one)
		}
		return nil
	}
}

func specOf(a Any) any {
	switch a := a.(type) {
	case *FederatedHPA:
		return a.Spec()
	case *CronFederatedHPA:
		return a.Spec()
	case *MultiClusterService:
		return a.Spec()
	case *FederatedResourceQuota:
		return a.Spec()
	case *WorkloadRebalancer:
		return a.Spec()
	}
	return nil
}

func conditionsOf(a Any) any {
	switch a := a.(type) {
	case *FederatedHPA:
		return a.Conditions()
	case *MultiClusterService:
		return a.Conditions()
	}
	return nil
}
