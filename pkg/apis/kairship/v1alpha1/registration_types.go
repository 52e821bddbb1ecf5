package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BindableRole is a role that can be given on an instance, and what it permits.
type BindableRole struct {
	// Name of the role, as an InstanceRoleBinding and an event of global
	// management have it.
	// +required
	Name Role `json:"name"`

	// Description says in one sentence what the role is for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// Permissions say in words what the role permits, one thing each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Permissions []string `json:"permissions,omitempty"`

	// Global are the rules that a binding on the whole instance has in the global
	// cluster.
	// +optional
	// +listType=atomic
	Global []rbacv1.PolicyRule `json:"global,omitempty"`

	// Instance are the rules that the role has inside the instance, beside those
	// that it takes over from Kubernetes' own role of the same rank.
	// +optional
	// +listType=atomic
	Instance []rbacv1.PolicyRule `json:"instance,omitempty"`
}

// InstanceRegistrationSpec is what global management needs to offer the
// instance for binding.
type InstanceRegistrationSpec struct {
	// Alias is the name people see; the Instance's own name when it has no alias.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Alias string `json:"alias,omitempty"`

	// Endpoint is the URL of the instance's apiserver; empty until it is known.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Endpoint string `json:"endpoint,omitempty"`

	// Roles are the roles that can be bound on the instance.
	// +optional
	// +listType=map
	// +listMapKey=name
	Roles []BindableRole `json:"roles,omitempty"`
}

// InstanceRegistrationStatus repeats how the instance is.
type InstanceRegistrationStatus struct {
	// State is the one word about the instance. Bindings can be made in every
	// state; they take effect in the instance once it answers.
	// +optional
	State InstanceState `json:"state,omitempty"`

	// Conditions say it in detail: Ready repeats the Instance's.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation of the Instance that this
	// registration was written for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// InstanceRegistration is what an instance looks like to global management. It
// has the Instance's name, is written by Kairship alone and goes with the
// Instance.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=instanceregistrations,singular=instanceregistration,scope=Cluster,shortName=ireg,categories={kairship}
// +kubebuilder:printcolumn:name="Alias",type=string,JSONPath=`.spec.alias`,description="The name people see"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="The one word about the instance"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`,priority=1,description="URL of its apiserver"
// +kubebuilder:selectablefield:JSONPath=`.status.state`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="an InstanceRegistration has the name of its Instance: at most 50 characters, lower-case letters, digits and '-', beginning and ending with a letter or digit",fieldPath=".metadata"
type InstanceRegistration struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec InstanceRegistrationSpec `json:"spec"`
	// +optional
	Status InstanceRegistrationStatus `json:"status,omitempty"`
}

// InstanceRegistrationList is a list of InstanceRegistrations.
// +kubebuilder:object:root=true
type InstanceRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InstanceRegistration `json:"items"`
}
