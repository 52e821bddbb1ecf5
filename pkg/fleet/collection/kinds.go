package collection

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// OfInstances returns the kinds that are collected of every instance: what Karmada was asked to
// run, how, and what became of it.
//
// Secrets are not among them, nor among OfMembers. Clusterpedia stores whole objects and can't
// collect metadata alone, so every value would be in the index's database, readable by users who
// may read the index. The binding of a propagated Secret is still collected; and so is its value,
// which cannot be avoided as long as Works are collected: Karmada puts the whole manifest into them.
//
// Where a version is given, another one is served too, and Clusterpedia would collect every object
// once per version.
func OfInstances() []pediav1alpha2.ClusterGroupResources {
	return []pediav1alpha2.ClusterGroupResources{
		{Group: "", Resources: []string{"namespaces", "services", "configmaps", "events"}},
		{Group: "apps", Resources: []string{"deployments", "statefulsets", "daemonsets"}},
		{Group: "batch", Resources: []string{"jobs", "cronjobs"}},
		{Group: "networking.k8s.io", Resources: []string{"ingresses"}},
		{Group: "apiextensions.k8s.io", Resources: []string{"customresourcedefinitions"}},
		{Group: "policy.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{
			"propagationpolicies", "clusterpropagationpolicies", "overridepolicies", "clusteroverridepolicies", "federatedresourcequotas",
		}},
		{Group: "work.karmada.io", Versions: []string{"v1alpha2"}, Resources: []string{"resourcebindings", "clusterresourcebindings"}},
		{Group: "work.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"works"}},
		{Group: "cluster.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"clusters"}},
		{Group: "apps.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"workloadrebalancers"}},
		{Group: "autoscaling.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"federatedhpas", "cronfederatedhpas"}},
		{Group: "config.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"resourceinterpretercustomizations"}},
		{Group: "multicluster.x-k8s.io", Versions: []string{"v1alpha1"}, Resources: []string{"serviceexports", "serviceimports"}},
		{Group: "networking.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"multiclusterservices", "multiclusteringresses"}},
		{Group: "remedy.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"remedies"}},
	}
}

// OfMembers returns the kinds that are collected of every member cluster: what runs there.
func OfMembers() []pediav1alpha2.ClusterGroupResources {
	return []pediav1alpha2.ClusterGroupResources{
		{Group: "", Resources: []string{"pods", "nodes", "services", "namespaces", "events", "persistentvolumeclaims"}},
		{Group: "apps", Resources: []string{"deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions"}},
		{Group: "autoscaling", Versions: []string{"v2"}, Resources: []string{"horizontalpodautoscalers"}},
		{Group: "batch", Resources: []string{"jobs", "cronjobs"}},
		{Group: "networking.k8s.io", Resources: []string{"ingresses", "ingressclasses"}},
	}
}

// With returns some kinds and more of them. A kind that is among them already, in whatever version,
// stays as it is.
func With(kinds []pediav1alpha2.ClusterGroupResources, more ...v1alpha1.CollectedKind) []pediav1alpha2.ClusterGroupResources {
	for _, m := range more {
		if slices.ContainsFunc(kinds, func(g pediav1alpha2.ClusterGroupResources) bool {
			return g.Group == m.Group && slices.Contains(g.Resources, m.Resource)
		}) {
			continue
		}
		kinds = append(kinds, pediav1alpha2.ClusterGroupResources{Group: m.Group, Versions: []string{m.Version}, Resources: []string{m.Resource}})
	}
	return kinds
}

// Parse reads a kind that is written as group/version/resource, or version/resource in the core group.
// Its errors are for the person who wrote it.
func Parse(text string) (v1alpha1.CollectedKind, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{""}, parts...)
	}
	if len(parts) != 3 || parts[0] != "" && len(validation.IsDNS1123Subdomain(parts[0])) > 0 ||
		len(validation.IsDNS1035Label(parts[1])) > 0 || len(validation.IsDNS1035Label(parts[2])) > 0 {
		return v1alpha1.CollectedKind{}, fmt.Errorf("must be group/version/resource with the plural name, such as argoproj.io/v1alpha1/rollouts, or v1/endpoints in the core group, not %q", text)
	}
	if parts[0] == "" && parts[2] == "secrets" {
		return v1alpha1.CollectedKind{}, fmt.Errorf("%q is not permitted: the values of Secrets would be in the index's database", text)
	}
	return v1alpha1.CollectedKind{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
}
