// Package karmadaresource answers queries about the objects of Karmada's own API that are no
// policies: FederatedHPAs, CronFederatedHPAs, MultiClusterServices, FederatedResourceQuotas and
// WorkloadRebalancers.
package karmadaresource

import (
	"fmt"

	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Any is an object of any of the kinds.
type Any interface {
	IsNode()
	// IsKarmadaResource marks the types of the interface in the schema.
	IsKarmadaResource()
	// Common gives what all of them have.
	Common() *Base
}

// Base is what all of them have.
type Base struct {
	object.Object
}

// Common implements Any.
func (b *Base) Common() *Base { return b }

// IsNode marks them as objects with a global ID, as GraphQL's Node asks.
func (b *Base) IsNode() {}

// IsKarmadaResource marks it as an object of Karmada's own API.
func (b *Base) IsKarmadaResource() {}

// ID is its global ID. The name of a kind is also that of its GraphQL type.
func (b *Base) ID() string {
	return nodeid.New(b.ObjectKind(), b.Instance, b.Namespace(), b.Name())
}

// NamespaceOrNil is its namespace; nil for the kinds that have none.
func (b *Base) NamespaceOrNil() *string { return object.Optional(b.Namespace()) }

// FederatedHPA scales a workload by what is measured in its clusters.
type FederatedHPA struct {
	Base
	karmada *autoscalingv1alpha1.FederatedHPA
}

// CronFederatedHPA scales a workload or changes a FederatedHPA at set times.
type CronFederatedHPA struct {
	Base
	karmada *autoscalingv1alpha1.CronFederatedHPA
}

// MultiClusterService exposes a Service to other clusters.
type MultiClusterService struct {
	Base
	karmada *networkingv1alpha1.MultiClusterService
}

// FederatedResourceQuota limits what a namespace may use in all clusters.
type FederatedResourceQuota struct {
	Base
	karmada *policyv1alpha1.FederatedResourceQuota
}

// WorkloadRebalancer has workloads scheduled anew.
type WorkloadRebalancer struct {
	Base
	karmada *appsv1alpha1.WorkloadRebalancer
}

// The pages and edges of each kind.
type (
	// FederatedHPAConnection is a page of its kind.
	FederatedHPAConnection = page.Connection[*FederatedHPA]
	// FederatedHPAEdge is one of its kind in a list.
	FederatedHPAEdge = page.Edge[*FederatedHPA]
	// CronFederatedHPAConnection is a page of its kind.
	CronFederatedHPAConnection = page.Connection[*CronFederatedHPA]
	// CronFederatedHPAEdge is one of its kind in a list.
	CronFederatedHPAEdge = page.Edge[*CronFederatedHPA]
	// MultiClusterServiceConnection is a page of its kind.
	MultiClusterServiceConnection = page.Connection[*MultiClusterService]
	// MultiClusterServiceEdge is one of its kind in a list.
	MultiClusterServiceEdge = page.Edge[*MultiClusterService]
	// FederatedResourceQuotaConnection is a page of its kind.
	FederatedResourceQuotaConnection = page.Connection[*FederatedResourceQuota]
	// FederatedResourceQuotaEdge is one of its kind in a list.
	FederatedResourceQuotaEdge = page.Edge[*FederatedResourceQuota]
	// WorkloadRebalancerConnection is a page of its kind.
	WorkloadRebalancerConnection = page.Connection[*WorkloadRebalancer]
	// WorkloadRebalancerEdge is one of its kind in a list.
	WorkloadRebalancerEdge = page.Edge[*WorkloadRebalancer]
)

func newFederatedHPA(base Base, k *autoscalingv1alpha1.FederatedHPA) *FederatedHPA {
	return &FederatedHPA{base, k}
}

func newCronFederatedHPA(base Base, k *autoscalingv1alpha1.CronFederatedHPA) *CronFederatedHPA {
	return &CronFederatedHPA{base, k}
}

func newMultiClusterService(base Base, k *networkingv1alpha1.MultiClusterService) *MultiClusterService {
	return &MultiClusterService{base, k}
}

func newFederatedResourceQuota(base Base, k *policyv1alpha1.FederatedResourceQuota) *FederatedResourceQuota {
	return &FederatedResourceQuota{base, k}
}

func newWorkloadRebalancer(base Base, k *appsv1alpha1.WorkloadRebalancer) *WorkloadRebalancer {
	return &WorkloadRebalancer{base, k}
}

// maker makes an object of one kind of what the index or an instance has.
type maker[T any] func(instance string, o *index.Object, fresh freshness.Freshness) (*T, error)

// decoded makes a maker of a constructor: K is Karmada's type of the kind.
func decoded[T, K any](of func(Base, *K) *T) maker[T] {
	return func(instance string, o *index.Object, fresh freshness.Freshness) (*T, error) {
		k, err := index.Decode[K](o)
		if err != nil {
			return nil, fmt.Errorf("reading %s %s/%s of instance %s: %w", o.Kind, o.Meta.Namespace, o.Meta.Name, instance, err)
		}
		return of(Base{Object: object.New(instance, o, fresh)}, k), nil
	}
}

// NamesOf are the names of some objects of instances.
func NamesOf(objects []*index.Object) []object.Name {
	out := make([]object.Name, len(objects))
	for i, o := range objects {
		out[i] = object.Name{Instance: v1alpha1.InstanceOfVirtualCluster(o.Cluster), Namespace: o.Meta.Namespace, Name: o.Meta.Name}
	}
	return out
}
