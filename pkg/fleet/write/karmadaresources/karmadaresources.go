// Package karmadaresources creates, changes and deletes the objects of Karmada's own API that are no policies.
package karmadaresources

import (
	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// Writes changes the objects of all kinds.
type Writes struct {
	FederatedHPAs           *specs.Changes[karmadaresource.FederatedHPA, autoscalingv1alpha1.FederatedHPASpec]
	CronFederatedHPAs       *specs.Changes[karmadaresource.CronFederatedHPA, autoscalingv1alpha1.CronFederatedHPASpec]
	MultiClusterServices    *specs.Changes[karmadaresource.MultiClusterService, networkingv1alpha1.MultiClusterServiceSpec]
	FederatedResourceQuotas *specs.Changes[karmadaresource.FederatedResourceQuota, policyv1alpha1.FederatedResourceQuotaSpec]
	WorkloadRebalancers     *specs.Changes[karmadaresource.WorkloadRebalancer, appsv1alpha1.WorkloadRebalancerSpec]
}

// NewWrites makes a Writes, which returns objects as they are read.
func NewWrites(w *write.Writer, read *karmadaresource.Service) *Writes {
	return &Writes{
		FederatedHPAs:           changes[karmadaresource.FederatedHPA, autoscalingv1alpha1.FederatedHPASpec](w, read.FederatedHPAs, true, nil),
		CronFederatedHPAs:       changes[karmadaresource.CronFederatedHPA, autoscalingv1alpha1.CronFederatedHPASpec](w, read.CronFederatedHPAs, true, nil),
		MultiClusterServices:    changes(w, read.MultiClusterServices, true, serviceClusters),
		FederatedResourceQuotas: changes(w, read.FederatedResourceQuotas, true, quotaClusters),
		WorkloadRebalancers:     changes[karmadaresource.WorkloadRebalancer, appsv1alpha1.WorkloadRebalancerSpec](w, read.WorkloadRebalancers, false, nil),
	}
}

// changes makes the Changes of one kind. clusters may be nil.
func changes[T, S any](w *write.Writer, read *karmadaresource.Kind[T], namespaced bool, clusters func(*S) []specs.NamedCluster) *specs.Changes[T, S] {
	of := read.Type()
	return &specs.Changes[T, S]{
		Writer: w, Make: read.Make, Clusters: clusters,
		Kind: write.Kind{
			GroupVersionResource: schema.GroupVersionResource{Group: of.Group, Version: of.Version, Resource: of.Resource}, Kind: of.Kind, Namespaced: namespaced,
		},
	}
}

// serviceClusters are the clusters that the spec of a MultiClusterService names.
func serviceClusters(spec *networkingv1alpha1.MultiClusterServiceSpec) []specs.NamedCluster {
	var n []specs.NamedCluster
	list := func(path *field.Path, names []string) {
		for i, name := range names {
			n = append(n, specs.NamedCluster{At: path.Index(i).String(), Name: name})
		}
	}
	at := field.NewPath("spec")
	list(at.Child("range", "clusterNames"), spec.Range.ClusterNames)
	list(at.Child("serviceProvisionClusters"), spec.ServiceProvisionClusters)
	list(at.Child("serviceConsumptionClusters"), spec.ServiceConsumptionClusters)
	for i, c := range spec.ProviderClusters {
		n = append(n, specs.NamedCluster{At: at.Child("providerClusters").Index(i).Child("name").String(), Name: c.Name})
	}
	for i, c := range spec.ConsumerClusters {
		n = append(n, specs.NamedCluster{At: at.Child("consumerClusters").Index(i).Child("name").String(), Name: c.Name})
	}
	return n
}

// quotaClusters are the clusters that the spec of a FederatedResourceQuota names.
func quotaClusters(spec *policyv1alpha1.FederatedResourceQuotaSpec) []specs.NamedCluster {
	n := make([]specs.NamedCluster, len(spec.StaticAssignments))
	for i, a := range spec.StaticAssignments {
		n[i] = specs.NamedCluster{At: field.NewPath("spec", "staticAssignments").Index(i).Child("clusterName").String(), Name: a.ClusterName}
	}
	return n
}
