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
// +kubebuilder:validation:XValidation:rule="self.type != 'Physical' || has(self.apiEndpoint)",message="a Physical cluster needs apiEndpoint: the https URL of its apiserver",fieldPath=".apiEndpoint",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.type != 'Physical' || has(self.credentialsSecretRef)",message="a Physical cluster needs credentialsSecretRef: the Secret that holds its credentials",fieldPath=".credentialsSecretRef",reason=FieldValueRequired
type ClusterSpec struct {
	// Type is Physical for a real cluster. Virtual ones are made by Kairship. It
	// cannot change.
	// +optional
	// +kubebuilder:default=Physical
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type cannot change: delete the Cluster and create it again"
	Type ClusterType `json:"type,omitempty"`

	// Hidden keeps the cluster out of the lists that people see.
	// +optional
	Hidden bool `json:"hidden,omitempty"`

	// APIEndpoint is the URL of the cluster's apiserver, beginning with https://.
	// It is also used when the Secret holds a kubeconfig that says another.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && size(url(self).getQuery()) == 0 && !self.contains('@')",message="must be an https URL without credentials and query, such as https://10.0.0.1:6443"
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// CredentialsSecretRef is where the credentials are. The Secret has the key
	// `kubeconfig`; or `token`; or `tls.crt` and `tls.key`. With the last two,
	// the key `caBundle` holds the CA; the host's trust store counts without it.
	// Without a CA a token is sent to the server alone that the Secret itself names:
	// by its key `server`, or in the kubeconfig. apiEndpoint has to be the same.
	// +optional
	CredentialsSecretRef *ClusterCredentialsReference `json:"credentialsSecretRef,omitempty"`

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
	// https:// or socks5://. A proxy that wants a password belongs into the
	// Secret, as the proxy-url of its kubeconfig.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5'] && url(self).getHostname() != '' && !self.contains('@')",message="must be an http, https or socks5 URL without credentials, such as http://proxy.example.com:3128"
	ProxyURL string `json:"proxyURL,omitempty"`

	// InstanceRef is the instance that the cluster is to be joined to; empty when
	// it is to be free. When it changes, the cluster leaves the former instance
	// before it joins this one. For a Virtual cluster it is the instance that it
	// stands for.
	// +optional
	InstanceRef *InstanceReference `json:"instanceRef,omitempty"`

	// Join says how the cluster is joined to its instance, and how it leaves it.
	// +optional
	Join *ClusterJoin `json:"join,omitempty"`
}

// ClusterCredentialsReference names the Secret of a Cluster.
type ClusterCredentialsReference struct {
	SecretReference `json:",inline"`

	// Key of the Secret's data that holds a kubeconfig. It is needed only when
	// that key is not called `kubeconfig`.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="must be a key of a Secret: letters, digits, '-', '_' and '.'"
	Key string `json:"key,omitempty"`
}

// InstanceReference names an Instance.
type InstanceReference struct {
	// Name of the Instance.
	// +required
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of an Instance: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// ClusterSummary counts what a cluster offers.
type ClusterSummary struct {
	// StaleSince is when the figures stopped to be reported: they are as they were
	// then. It is absent while they are current.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`

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
	// Conditions say how the cluster is: Identified, Reachable, Ready, Indexed and Joined.
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

	// KubeSystemID is the UID of the namespace kube-system: two endpoints with the same
	// one are the same cluster. A Physical Cluster keeps the first one that was seen
	// until it is deleted: an endpoint with another one is not used.
	// +optional
	KubeSystemID string `json:"kubeSystemID,omitempty"`

	// CredentialsFingerprint is a hash of the endpoint and the credentials that were last
	// seen to lead to the cluster with this kubeSystemID. Changed ones are used once they
	// have been seen to lead there. It is absent when the same endpoint and credentials
	// have led to another cluster since.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	CredentialsFingerprint string `json:"credentialsFingerprint,omitempty"`

	// Membership is the instance in which something was made for the cluster, or
	// is about to be: it is written before anything is, and removed after
	// everything was. It is absent while the cluster is free.
	// +optional
	Membership *ClusterMembership `json:"membership,omitempty"`

	// Summary counts nodes and resources, as the instance that the cluster is joined
	// to reports them. It is absent for a cluster that is joined to none.
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
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`,description="Physical or Virtual"
// +kubebuilder:printcolumn:name="Instance",type=string,JSONPath=`.spec.instanceRef.name`,description="The instance it is joined to, or stands for"
// +kubebuilder:printcolumn:name="Joined",type=string,JSONPath=`.status.conditions[?(@.type=="Joined")].reason`,description="Whether it is a member of the instance, or why not"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether it can be worked with"
// +kubebuilder:printcolumn:name="Indexed",type=string,JSONPath=`.status.conditions[?(@.type=="Indexed")].status`,description="Whether its resources are being collected"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.summary.nodes.total`,description="Its nodes, when it is joined"
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.kubernetesVersion`,description="Version of its apiserver"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Nodes Ready",type=integer,JSONPath=`.status.summary.nodes.ready`,priority=1,description="Its nodes that are ready"
// +kubebuilder:printcolumn:name="Alias",type=string,JSONPath=`.spec.alias`,priority=1,description="The name people see"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.apiEndpoint`,priority=1,description="URL of its apiserver"
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`,priority=1
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`,priority=1
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.zone`,priority=1
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="Reachable")].reason`,priority=1,description="Whether its apiserver answers, or why not"
// +kubebuilder:printcolumn:name="Index",type=string,JSONPath=`.status.conditions[?(@.type=="Indexed")].reason`,priority=1,description="How the collection is, or why there is none"
// +kubebuilder:printcolumn:name="Credentials Expire",type=string,JSONPath=`.status.credentialsExpireTime`,priority=1,description="When the credentials stop to be accepted"
// +kubebuilder:selectablefield:JSONPath=`.spec.type`
// +kubebuilder:selectablefield:JSONPath=`.spec.instanceRef.name`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.startsWith('k-') || self.spec.type == 'Virtual'",message="names that begin with k- are reserved for the virtual clusters that Kairship makes: choose another name",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="self.spec.type != 'Virtual' || (has(self.spec.instanceRef) && self.metadata.name == 'k-' + self.spec.instanceRef.name)",message="a Virtual cluster stands for an instance: its name is k- followed by spec.instanceRef.name",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="self.spec.type != 'Physical' || (size(self.metadata.name) <= 48 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))",message="the name of a Physical cluster has at most 48 characters, as Karmada wants it: lower-case letters, digits and '-', beginning and ending with a letter or digit",fieldPath=".metadata"
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
