package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a PediaCluster, and the reason of one.
const (
	ValidatedCondition      = "Validated"
	SynchroRunningCondition = "SynchroRunning"
	ClusterHealthyCondition = "ClusterHealthy"
	ReadyCondition          = "Ready"

	SynchroInitialFailedReason = "InitialFailed"
)

// States of a collected kind.
const (
	ResourceSyncStatusPending = "Pending"
	ResourceSyncStatusSyncing = "Syncing"
	ResourceSyncStatusError   = "Error"
)

// PediaCluster has Clusterpedia collect the objects of one cluster.
//
// +kubebuilder:object:root=true
type PediaCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec   `json:"spec,omitempty"`
	Status ClusterStatus `json:"status,omitempty"`
}

// PediaClusterList is a list of PediaClusters.
//
// +kubebuilder:object:root=true
type PediaClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PediaCluster `json:"items"`
}

// ClusterSpec says how Clusterpedia reaches a cluster, and what it collects there.
// Credentials in the spec itself take precedence over AuthenticationFrom. Kairship writes
// none; the fields are here so that it removes those of earlier releases.
type ClusterSpec struct {
	// APIServer is the endpoint. Clusterpedia ignores it where there is a kubeconfig.
	APIServer string `json:"apiserver,omitempty"`

	// AuthenticationFrom names the Secret with the credentials, in the namespace that
	// Clusterpedia's clustersynchro-manager runs in.
	AuthenticationFrom *ClusterAuthentication `json:"authenticationFrom,omitempty"`

	Kubeconfig []byte `json:"kubeconfig,omitempty"`
	TokenData  []byte `json:"tokenData,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`

	SyncResources []ClusterGroupResources `json:"syncResources"`
}

// ClusterAuthentication names where credentials are. Clusterpedia knows more sources than
// a kubeconfig; they have no proxy, and without a CA they do not verify the server.
type ClusterAuthentication struct {
	KubeConfig *ClusterAuthenticationSource `json:"kubeconfig,omitempty"`
}

// ClusterAuthenticationSource is a key of a Secret.
type ClusterAuthenticationSource struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// ClusterGroupResources are resources of one API group; of the preferred version where
// Versions is empty.
type ClusterGroupResources struct {
	Group     string   `json:"group"`
	Versions  []string `json:"versions,omitempty"`
	Resources []string `json:"resources"`
}

// ClusterStatus is written by Clusterpedia.
type ClusterStatus struct {
	APIServer     string                        `json:"apiserver,omitempty"`
	Version       string                        `json:"version,omitempty"`
	Conditions    []metav1.Condition            `json:"conditions,omitempty"`
	SyncResources []ClusterGroupResourcesStatus `json:"syncResources,omitempty"`
}

// ClusterGroupResourcesStatus has the state of the resources of one API group.
type ClusterGroupResourcesStatus struct {
	Group     string                  `json:"group"`
	Resources []ClusterResourceStatus `json:"resources"`
}

// ClusterResourceStatus is the state of one resource, by version.
type ClusterResourceStatus struct {
	Name           string                         `json:"name"`
	Kind           string                         `json:"kind"`
	Namespaced     bool                           `json:"namespaced"`
	SyncConditions []ClusterResourceSyncCondition `json:"syncConditions"`
}

// ClusterResourceSyncCondition is the state of one version of a resource.
type ClusterResourceSyncCondition struct {
	Version string `json:"version"`
	// Status is one of the ResourceSyncStatus constants, "Stop" or "Unknown".
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// InitialListPhase means that the first list has not been stored as a whole yet.
	InitialListPhase   bool        `json:"initialListPhase,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}
