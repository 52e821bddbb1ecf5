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
func pediaCluster(cluster *v1alpha1.Cluster, to connection.Connection, kinds []pediav1alpha2.ClusterGroupResources) *pediav1alpha2.PediaCluster {
	return &pediav1alpha2.PediaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.Name, Annotations: map[string]string{fingerprintAnnotation: to.Fingerprint()}},
		Spec: pediav1alpha2.ClusterSpec{
			APIServer: to.Endpoint, // for people; Clusterpedia uses the kubeconfig
			AuthenticationFrom: &pediav1alpha2.ClusterAuthentication{
				KubeConfig: &pediav1alpha2.ClusterAuthenticationSource{Name: secretName(cluster.Name), Key: secretKey},
			},
			SyncResources: kinds,
		},
	}
}

// Collect are kinds that are collected of the whole fleet besides those that always are.
type Collect struct {
	OfInstances, OfMembers []v1alpha1.CollectedKind
}

// kinds are those to collect of a cluster, which belongs to an instance or, with nil, to none.
func (c *Collect) kinds(of v1alpha1.ClusterType, instance *v1alpha1.Instance) []pediav1alpha2.ClusterGroupResources {
	var own v1alpha1.CollectedKinds
	if instance != nil && instance.Spec.Collect != nil {
		own = *instance.Spec.Collect
	}
	if of == v1alpha1.ClusterTypeVirtual {
		return fleetcollection.With(fleetcollection.With(fleetcollection.OfInstances(), c.OfInstances...), own.OfInstance...)
	}
	return fleetcollection.With(fleetcollection.With(fleetcollection.OfMembers(), c.OfMembers...), own.OfMembers...)
}
