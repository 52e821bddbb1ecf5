package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstanceMode says where an instance comes from.
// +kubebuilder:validation:Enum=External;Managed
type InstanceMode string

const (
	// InstanceModeExternal is a Karmada that exists already: Kairship reaches it
	// with the kubeconfig it is given, and never installs, changes or removes it.
	InstanceModeExternal InstanceMode = "External"
	// InstanceModeManaged is a Karmada that the Karmada operator installs.
	InstanceModeManaged InstanceMode = "Managed"
)

// DeletionPolicy says what happens to a Managed Karmada when its Instance is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

const (
	// DeletionPolicyRetain leaves the Karmada running. Kairship only forgets it.
	DeletionPolicyRetain DeletionPolicy = "Retain"
	// DeletionPolicyDelete uninstalls the Karmada that Kairship had installed.
	DeletionPolicyDelete DeletionPolicy = "Delete"
)

// InstanceState is the one word about an instance that lists show.
// +kubebuilder:validation:Enum=InProcess;Running;Terminating;Unavailable;Unknown
type InstanceState string

const (
	// InstanceStateInProcess means that the instance is being installed or changed.
	InstanceStateInProcess InstanceState = "InProcess"
	// InstanceStateRunning means that the instance answers and serves Karmada's APIs.
	InstanceStateRunning InstanceState = "Running"
	// InstanceStateTerminating means that the Instance is being deleted.
	InstanceStateTerminating InstanceState = "Terminating"
	// InstanceStateUnavailable means that the instance does not answer, or refuses.
	InstanceStateUnavailable InstanceState = "Unavailable"
	// InstanceStateUnknown means that it could not be checked: the
	// credentials are missing or unusable, or the first look is still to come.
	InstanceStateUnknown InstanceState = "Unknown"
)

// InstanceSpec is what an administrator wants of one Karmada control plane.
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || has(self.kubeconfigSecretRef)",message="mode External needs kubeconfigSecretRef: the Secret that holds the kubeconfig of the existing Karmada",fieldPath=".kubeconfigSecretRef",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || !has(self.hostCluster)",message="hostCluster is for mode Managed: an External Karmada runs where it was installed",fieldPath=".hostCluster",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || !has(self.components)",message="components is for mode Managed: an External Karmada is configured where it was installed",fieldPath=".components",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="self.mode != 'External' || !has(self.deletionPolicy) || self.deletionPolicy == 'Retain'",message="deletionPolicy Delete is for mode Managed: Kairship never uninstalls an External Karmada",fieldPath=".deletionPolicy"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Managed' || has(self.hostCluster)",message="mode Managed needs hostCluster: the Physical cluster to install Karmada on",fieldPath=".hostCluster",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="self.mode != 'Managed' || !has(self.kubeconfigSecretRef)",message="kubeconfigSecretRef is for mode External: the credentials of a Managed Karmada come from its installation",fieldPath=".kubeconfigSecretRef",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.hostCluster) || (has(self.hostCluster) && self.hostCluster == oldSelf.hostCluster)",message="hostCluster cannot change: a control plane does not move",fieldPath=".hostCluster"
// +kubebuilder:validation:XValidation:rule="(has(self.components) && has(self.components.etcd)) == (has(oldSelf.components) && has(oldSelf.components.etcd))",message="etcd cannot change: neither its members nor its volumes can be changed in place",fieldPath=".components.etcd"
// +kubebuilder:validation:XValidation:rule="(has(self.components) && has(self.components.apiServer) && has(self.components.apiServer.serviceType) ? self.components.apiServer.serviceType : 'unset') == (has(oldSelf.components) && has(oldSelf.components.apiServer) && has(oldSelf.components.apiServer.serviceType) ? oldSelf.components.apiServer.serviceType : 'unset')",message="serviceType cannot change: the serving certificate was issued for the addresses that the instance has",fieldPath=".components.apiServer.serviceType"
// +kubebuilder:validation:XValidation:rule="(has(self.components) && has(self.components.apiServer) && has(self.components.apiServer.certSANs) ? self.components.apiServer.certSANs : []) == (has(oldSelf.components) && has(oldSelf.components.apiServer) && has(oldSelf.components.apiServer.certSANs) ? oldSelf.components.apiServer.certSANs : [])",message="certSANs cannot change: the serving certificate is issued once",fieldPath=".components.apiServer.certSANs"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.components) || !has(oldSelf.components.descheduler) || (has(self.components) && has(self.components.descheduler))",message="descheduler cannot be left out any more, because the operator removes no component: set its enabled to false",fieldPath=".components.descheduler"
// +kubebuilder:validation:XValidation:rule="self.mode != 'Managed' || !has(self.karmadaVersion) || !has(oldSelf.karmadaVersion) || int(self.karmadaVersion.substring(1).split('.')[0]) > int(oldSelf.karmadaVersion.substring(1).split('.')[0]) || (int(self.karmadaVersion.substring(1).split('.')[0]) == int(oldSelf.karmadaVersion.substring(1).split('.')[0]) && int(self.karmadaVersion.split('.')[1]) >= int(oldSelf.karmadaVersion.split('.')[1]))",message="karmadaVersion cannot go back to an earlier minor version: Karmada does not take back what a later one stored",fieldPath=".karmadaVersion"
type InstanceSpec struct {
	// Alias is the name people see. The object's own name is used where it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Alias string `json:"alias,omitempty"`

	// Mode is External for a Karmada that exists already, or Managed for one
	// that the Karmada operator installs. It cannot change.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="mode cannot change: delete the Instance and create it again"
	Mode InstanceMode `json:"mode"`

	// KubeconfigSecretRef is where the credentials of an External instance are:
	// a kubeconfig whose certificates, keys and tokens are inlined.
	// +optional
	KubeconfigSecretRef *SecretKeyReference `json:"kubeconfigSecretRef,omitempty"`

	// HostCluster is the Physical inventory Cluster that a Managed instance is
	// installed on. It cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=48
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && !self.startsWith('k-')",message="must be the name of a Physical Cluster of the inventory; names that begin with k- are virtual"
	HostCluster string `json:"hostCluster,omitempty"`

	// KarmadaVersion is the version that a Managed instance is installed at. For
	// an External instance it is a declaration: Karmada's API does not tell its
	// version, so this is what status.karmadaVersion repeats.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^v[0-9]+[.][0-9]+[.][0-9]+(-[-.0-9A-Za-z]+)?$')",message="must be a version such as v1.18.2"
	KarmadaVersion string `json:"karmadaVersion,omitempty"`

	// Components are the settings of a Managed instance's components.
	// +optional
	Components *InstanceComponents `json:"components,omitempty"`

	// DeletionPolicy says what happens to a Managed Karmada when this object is
	// deleted. An External one is never touched.
	// +optional
	// +kubebuilder:default=Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Collect are kinds of objects that the index collects of this instance and its members
	// besides those that it collects of all.
	// +optional
	Collect *CollectedKinds `json:"collect,omitempty"`

	// HistoryRetentionDays is how many days the history of this instance is kept, in the place
	// of what the controller manager is told for all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	HistoryRetentionDays *int32 `json:"historyRetentionDays,omitempty"`
}

// StaleCluster is a member cluster whose figures are old.
type StaleCluster struct {
	// Name of the member cluster.
	// +required
	Name string `json:"name"`

	// Since is when the instance noticed that the cluster does not report any more, or
	// when the instance itself was lost.
	// +required
	Since metav1.Time `json:"since"`
}

// InstanceSummary counts what an instance holds. Its figures follow the instance
// within the statistics interval, unless it reports that they are old.
type InstanceSummary struct {
	// StaleSince is when the connection to the instance was lost: the figures are as
	// they were then, but none of the clusters and nodes counts as ready. It is absent
	// while the instance is followed.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`

	// StaleClusters are the member clusters that do not report: all of them, once the
	// instance itself is lost. The figures count them with what they reported last, and
	// neither them nor their nodes as ready.
	// +optional
	// +listType=map
	// +listMapKey=name
	StaleClusters []StaleCluster `json:"staleClusters,omitempty"`

	// Clusters joined to the instance.
	// +optional
	Clusters ReadyCount `json:"clusters"`

	// Nodes of all joined clusters.
	// +optional
	Nodes ReadyCount `json:"nodes"`

	// CPU of all joined clusters, in cores.
	// +optional
	CPU Capacity `json:"cpu"`

	// Memory of all joined clusters, in bytes.
	// +optional
	Memory Capacity `json:"memory"`

	// Pods of all joined clusters.
	// +optional
	Pods Capacity `json:"pods"`

	// Workloads of the instance, by kind.
	// +optional
	// +listType=map
	// +listMapKey=kind
	Workloads []WorkloadCount `json:"workloads,omitempty"`

	// Policies of the instance, by kind.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=kind
	Policies []KindCount `json:"policies,omitempty"`

	// Resources that Karmada propagates for the instance, by kind.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=kind
	Resources []KindCount `json:"resources,omitempty"`
}

// InstanceStatus is what was observed of one Karmada control plane.
type InstanceStatus struct {
	// State is the one word about the instance.
	// +optional
	State InstanceState `json:"state,omitempty"`

	// Conditions say it in detail: Reachable, APIServerHealthy,
	// ControlPlaneHealthy, Identified, Ready, Indexed and Registered.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that state was computed for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// KarmadaVersion is the version of Karmada; see spec.karmadaVersion for how
	// it is known.
	// +optional
	KarmadaVersion string `json:"karmadaVersion,omitempty"`

	// KubernetesVersion is what the instance's apiserver says at /version.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIEndpoint is the URL of the instance's apiserver, from its kubeconfig.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// ControlPlane says which control plane the instance is, whatever address and
	// credentials it is reached with. It is absent until the instance was reached once.
	// +optional
	ControlPlane *InstanceControlPlane `json:"controlPlane,omitempty"`

	// KubeconfigSecretRef is where the credentials of a Managed instance are,
	// once it has some.
	// +optional
	KubeconfigSecretRef *SecretKeyReference `json:"kubeconfigSecretRef,omitempty"`

	// Summary counts what the instance holds. It is absent until it was counted.
	// +optional
	Summary *InstanceSummary `json:"summary,omitempty"`
}

// Instance is one Karmada control plane. Instances know nothing of each other.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=instances,singular=instance,scope=Cluster,shortName=inst,categories={kairship}
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`,description="External or Managed"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="The one word about the instance"
// +kubebuilder:printcolumn:name="Indexed",type=string,JSONPath=`.status.conditions[?(@.type=="Indexed")].status`,description="Whether its resources are being collected"
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.summary.clusters.total`,description="Member clusters"
// +kubebuilder:printcolumn:name="Clusters Ready",type=integer,JSONPath=`.status.summary.clusters.ready`,description="Member clusters that are ready"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.summary.nodes.total`,description="Nodes of the member clusters"
// +kubebuilder:printcolumn:name="Nodes Ready",type=integer,JSONPath=`.status.summary.nodes.ready`,priority=1,description="Nodes that are ready"
// +kubebuilder:printcolumn:name="Karmada",type=string,JSONPath=`.status.karmadaVersion`,description="Version of Karmada"
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.kubernetesVersion`,description="Version of its apiserver"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Alias",type=string,JSONPath=`.spec.alias`,priority=1,description="The name people see"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.apiEndpoint`,priority=1,description="URL of its apiserver"
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="Reachable")].reason`,priority=1,description="Whether its apiserver answers, or why not"
// +kubebuilder:printcolumn:name="API Server",type=string,JSONPath=`.status.conditions[?(@.type=="APIServerHealthy")].reason`,priority=1,description="Whether its apiserver is ready, or why not"
// +kubebuilder:printcolumn:name="Control Plane",type=string,JSONPath=`.status.conditions[?(@.type=="ControlPlaneHealthy")].reason`,priority=1,description="Whether Karmada works as far as it can be seen, or why not"
// +kubebuilder:printcolumn:name="Index",type=string,JSONPath=`.status.conditions[?(@.type=="Indexed")].reason`,priority=1,description="How the collection is, or why there is none"
// +kubebuilder:printcolumn:name="Registered",type=string,JSONPath=`.status.conditions[?(@.type=="Registered")].status`,priority=1,description="Whether global management can learn of it"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.hostCluster`,priority=1,description="Cluster that a Managed instance is installed on"
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.conditions[?(@.type=="Installed")].reason`,priority=1,description="How far the installation of a Managed instance is"
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.conditions[?(@.type=="Ready")].lastTransitionTime`,priority=1,description="How long it has been ready, or not"
// +kubebuilder:printcolumn:name="Stale",type=date,JSONPath=`.status.summary.staleSince`,priority=1,description="How old the figures are; empty while they are current"
// +kubebuilder:selectablefield:JSONPath=`.spec.mode`
// +kubebuilder:selectablefield:JSONPath=`.status.state`
// +kubebuilder:selectablefield:JSONPath=`.status.controlPlane.kubeSystemID`
// +kubebuilder:validation:XValidation:rule="self.spec.mode != 'Managed' || size(self.metadata.name) <= 34",message="the name of a Managed Instance has at most 34 characters, because the operator makes names of Services from it",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name of an Instance has at most 50 characters: lower-case letters, digits and '-', beginning and ending with a letter or digit",fieldPath=".metadata"
type Instance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec InstanceSpec `json:"spec"`
	// +optional
	Status InstanceStatus `json:"status,omitempty"`
}

// InstanceList is a list of Instances.
// +kubebuilder:object:root=true
type InstanceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Instance `json:"items"`
}

// CredentialsRef is where the instance's kubeconfig is: what the spec of an
// External instance says, or what the status of a Managed one does. It is nil
// while there is none.
func (i *Instance) CredentialsRef() *SecretKeyReference {
	if i.Spec.Mode == InstanceModeManaged {
		return i.Status.KubeconfigSecretRef
	}
	return i.Spec.KubeconfigSecretRef
}

// DisplayName is the name that people see.
func (i *Instance) DisplayName() string {
	if i.Spec.Alias != "" {
		return i.Spec.Alias
	}
	return i.Name
}
