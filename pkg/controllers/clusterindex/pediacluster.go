package clusterindex

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	fleetcollection "github.com/kairship-io/kairship/pkg/fleet/collection"
)

// pediaCluster is the PediaCluster that a Cluster should have.
//
// Its credentials are always a kubeconfig, also when the Cluster's Secret has a token or a
// certificate. Clusterpedia's other fields know no proxy and no server name, and without
// a CA they switch the check of the serving certificate off, where a kubeconfig falls
// back to the host's trust store.
func pediaCluster(cluster *v1alpha1.Cluster, to connection.Connection) *pediav1alpha2.PediaCluster {
	return &pediav1alpha2.PediaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name, Annotations: map[string]string{fingerprintAnnotation: to.Fingerprint()}},
		Spec: pediav1alpha2.ClusterSpec{
			APIServer: to.Endpoint, // for people; Clusterpedia uses the kubeconfig
			AuthenticationFrom: &pediav1alpha2.ClusterAuthentication{
				KubeConfig: &pediav1alpha2.ClusterAuthenticationSource{Name: secretName(cluster.Name), Key: secretKey},
			},
			SyncResources: resources(cluster.Spec.Type),
		},
	}
}

// resources returns the resources to collect from a cluster.
//
// Secrets are on neither list. Clusterpedia stores whole objects and can't collect metadata alone,
// so every value would be in the index's database, readable by users who may read the index. The
// binding of a propagated Secret is still collected; and so is its value, which cannot be avoided
// as long as Works are collected: Karmada puts the whole manifest into them.
func resources(kind v1alpha1.ClusterType) []pediav1alpha2.ClusterGroupResources {
	if kind == v1alpha1.ClusterTypeVirtual {
		return virtualResources()
	}
	return fleetcollection.OfMembers()
}

// virtualResources is what Karmada was asked to run, how, and what became of it.
//
// Where a version is given, another one is served too, and Clusterpedia would
// collect every object once per version.
func virtualResources() []pediav1alpha2.ClusterGroupResources {
	return []pediav1alpha2.ClusterGroupResources{
		{Group: "", Resources: []string{"namespaces", "services", "configmaps", "events"}},
		{Group: "apps", Resources: []string{"deployments", "statefulsets", "daemonsets"}},
		{Group: "batch", Resources: []string{"jobs", "cronjobs"}},
		{Group: "networking.k8s.io", Resources: []string{"ingresses"}},
		{Group: "apiextensions.k8s.io", Resources: []string{"customresourcedefinitions"}},
		{Group: "policy.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{
			"propagationpolicies", "clusterpropagationpolicies", "overridepolicies", "clusteroverridepolicies",
		}},
		{Group: "work.karmada.io", Versions: []string{"v1alpha2"}, Resources: []string{"resourcebindings", "clusterresourcebindings"}},
		{Group: "work.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"works"}},
		{Group: "cluster.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"clusters"}},
	}
}
