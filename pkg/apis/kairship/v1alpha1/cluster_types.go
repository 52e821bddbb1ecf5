package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterType says what an inventory cluster is.
// +kubebuilder:validation:Enum=Physical;Virtual
type ClusterType string

const (
	// ClusterTypePhysical is a real Kubernetes cluster.
	ClusterTypePhysical ClusterType = "Physical"
	// ClusterTypeVirtual is an instance's own apiserver, registered so that its
	// resources are indexed. Kairship makes these itself.
	ClusterTypeVirtual ClusterType = "Virtual"
)

// ClusterSpec is an endpoint and its credentials.
type ClusterSpec struct {
	// Type is Physical for a real cluster. Virtual ones are made by Kairship.
	// +optional
	// +kubebuilder:default=Physical
	Type ClusterType `json:"type,omitempty"`

	// Hidden keeps the cluster out of the lists that people see.
	// +optional
	Hidden bool `json:"hidden,omitempty"`

	// APIEndpoint is the URL of the cluster's apiserver, beginning with https://.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// CredentialsSecretRef is where the credentials are. The Secret has the key
	// `kubeconfig`; or `token`; or `tls.crt` and `tls.key`. The last two take
	// the endpoint from apiEndpoint and the CA from the key `caBundle`.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`

	// Provider is who runs the cluster, such as aws or on-premises.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Provider string `json:"provider,omitempty"`

	// Region the cluster is in.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// Zone the cluster is in.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// Alias is the name people see. The object's own name is used where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Alias string `json:"alias,omitempty"`

	// ProxyURL is the proxy through which the apiserver is reached: http://,
	// https:// or socks5://.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`

	// InstanceRef is the instance that the cluster is joined to; empty when it is
	// free. For a Virtual cluster it is the instance that it stands for.
	// +optional
	InstanceRef *InstanceReference `json:"instanceRef,omitempty"`
}

// InstanceReference names an Instance.
type InstanceReference struct {
	// Name of the Instance.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`
}

// ClusterSummary counts what a cluster offers.
type ClusterSummary struct {
	// Nodes of the cluster.
	// +optional
	Nodes ReadyCount `json:"nodes"`

	// CPU in cores.
	// +optional
	CPU Capacity `json:"cpu"`

	// Memory in bytes.
	// +optional
	Memory Capacity `json:"memory"`

	// Pods by number.
	// +optional
	Pods Capacity `json:"pods"`
}

// ClusterStatus is what was observed of an inventory cluster.
type ClusterStatus struct {
	// Conditions say how the cluster is: Reachable, Ready and Indexed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the conditions Reachable
	// and Ready were computed for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// KubernetesVersion is what the apiserver says at /version.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// KubeSystemID is the UID of the namespace kube-system: it tells whether two
	// endpoints are the same cluster.
	// +optional
	KubeSystemID string `json:"kubeSystemID,omitempty"`

	// Summary counts nodes and resources. It is absent until somebody counted.
	// +optional
	Summary *ClusterSummary `json:"summary,omitempty"`

	// CredentialsExpireTime is when the client certificate or the token stops to
	// be accepted; absent when it does not say.
	// +optional
	CredentialsExpireTime *metav1.Time `json:"credentialsExpireTime,omitempty"`
}

// Cluster is one entry of the inventory: an endpoint and its credentials.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusters,singular=cluster,scope=Cluster,shortName=kcl,categories={kairship}
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ClusterSpec `json:"spec"`
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}

// DisplayName is the name that people see.
func (c *Cluster) DisplayName() string {
	if c.Spec.Alias != "" {
		return c.Spec.Alias
	}
	return c.Name
}
