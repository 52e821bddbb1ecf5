package karmadaresource

import (
	"maps"
	"slices"
	"time"

	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Spec is what it exposes, and where.
func (m *MultiClusterService) Spec() *networkingv1alpha1.MultiClusterServiceSpec {
	return &m.karmada.Spec
}

// Conditions are its state in detail.
func (m *MultiClusterService) Conditions() []object.Condition {
	return object.Conditions(m.karmada.Status.Conditions)
}

// LoadBalancerIngress is where a load balancer receives traffic.
type LoadBalancerIngress struct {
	IP, Hostname *string
}

// LoadBalancerIngress is where load balancers receive its traffic.
func (m *MultiClusterService) LoadBalancerIngress() []LoadBalancerIngress {
	in := m.karmada.Status.LoadBalancer.Ingress
	out := make([]LoadBalancerIngress, len(in))
	for i := range in {
		out[i] = LoadBalancerIngress{object.Optional(in[i].IP), object.Optional(in[i].Hostname)}
	}
	return out
}

// Spec is the limits.
func (q *FederatedResourceQuota) Spec() *policyv1alpha1.FederatedResourceQuotaSpec {
	return &q.karmada.Spec
}

// QuotaUse is the limit and the use of one resource.
type QuotaUse struct {
	Name       string
	Hard, Used *string
}

// ClusterQuota is the limits and the use of a member cluster.
type ClusterQuota struct {
	ClusterName string
	Uses        []QuotaUse
}

// Overall is the limit and the use of each resource in all clusters together.
func (q *FederatedResourceQuota) Overall() []QuotaUse {
	return uses(q.karmada.Status.Overall, q.karmada.Status.OverallUsed)
}

// Clusters are the limits and the use in each cluster.
func (q *FederatedResourceQuota) Clusters() []ClusterQuota {
	in := q.karmada.Status.AggregatedStatus
	out := make([]ClusterQuota, len(in))
	for i := range in {
		out[i] = ClusterQuota{in[i].ClusterName, uses(in[i].Hard, in[i].Used)}
	}
	return out
}

// uses joins limits and uses by the names of their resources.
func uses(hard, used corev1.ResourceList) []QuotaUse {
	names := maps.Clone(hard)
	if names == nil {
		names = corev1.ResourceList{}
	}
	maps.Copy(names, used)
	out := make([]QuotaUse, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, QuotaUse{string(name), quantityIn(hard, name), quantityIn(used, name)})
	}
	return out
}

func quantityIn(list corev1.ResourceList, name corev1.ResourceName) *string {
	q, ok := list[name]
	if !ok {
		return nil
	}
	return new(q.String())
}

// Spec is which workloads it has scheduled anew.
func (r *WorkloadRebalancer) Spec() *appsv1alpha1.WorkloadRebalancerSpec { return &r.karmada.Spec }

// RebalancedWorkload is what came of a workload.
type RebalancedWorkload struct {
	APIVersion, Kind, Name string
	Namespace              *string
	Result                 appsv1alpha1.RebalanceResult
	Reason                 *string
}

// ObservedWorkloads are what came of each workload.
func (r *WorkloadRebalancer) ObservedWorkloads() []RebalancedWorkload {
	in := r.karmada.Status.ObservedWorkloads
	out := make([]RebalancedWorkload, len(in))
	for i, o := range in {
		w := o.Workload
		out[i] = RebalancedWorkload{w.APIVersion, w.Kind, w.Name, object.Optional(w.Namespace), o.Result, object.Optional(string(o.Reason))}
	}
	return out
}

// FinishTime is when all of its workloads were done.
func (r *WorkloadRebalancer) FinishTime() *time.Time { return timeOf(r.karmada.Status.FinishTime) }
