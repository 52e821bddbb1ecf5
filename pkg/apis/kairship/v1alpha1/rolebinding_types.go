package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Role is what a binding lets its subject do on an instance.
// +kubebuilder:validation:Enum=viewer;editor;admin
type Role string

const (
	// RoleViewer reads everything but the values of Secrets.
	RoleViewer Role = "viewer"
	// RoleEditor reads and writes everything, and may use the native passthrough.
	RoleEditor Role = "editor"
	// RoleAdmin does what an editor does, says who has which role, and changes and
	// deletes the Instance itself.
	RoleAdmin Role = "admin"
)

// Roles are all roles, from the one that permits least to the one that permits most.
func Roles() []Role { return []Role{RoleViewer, RoleEditor, RoleAdmin} }

// SubjectKind reports whether a binding is about one person or about a group.
// +kubebuilder:validation:Enum=User;Group
type SubjectKind string

const (
	// SubjectUser is one person or program, by the name that the global cluster's
	// authentication gives it. A service account is the User
	// system:serviceaccount:NAMESPACE:NAME.
	SubjectUser SubjectKind = "User"
	// SubjectGroup is all users whom the global cluster's authentication puts into
	// a group.
	SubjectGroup SubjectKind = "Group"
)

// BindingSubject is who is given a role.
// +kubebuilder:validation:XValidation:rule="!(self.name in ['system:anonymous', 'system:unauthenticated'])",message="whoever has not said who they are cannot be given a role: choose a user or a group of authenticated people",fieldPath=".name"
type BindingSubject struct {
	// Kind is User or Group.
	// +required
	Kind SubjectKind `json:"kind"`

	// Name of the user or group, exactly as the global cluster's authentication
	// knows it; upper and lower case differ.
	// +required
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^\\\\s[:cntrl:]]([^[:cntrl:]]*[^\\\\s[:cntrl:]])?$')",message="must be the name of a user or group, without control characters and without spaces at its ends"
	Name string `json:"name"`
}

// BindingSource says which event of global management a binding was written
// for. It lets every replica tell a late or repeated event from a new one.
// +kubebuilder:validation:XValidation:rule="self.bindingID == oldSelf.bindingID",message="bindingID cannot change: another binding of global management is another InstanceRoleBinding",fieldPath=".bindingID"
// +kubebuilder:validation:XValidation:rule="self.sequence >= oldSelf.sequence",message="sequence cannot go back: a later event has been stored already",fieldPath=".sequence"
type BindingSource struct {
	// BindingID is what global management calls the binding. The object's name is
	// made from it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	BindingID string `json:"bindingID"`

	// Sequence numbers the events of this binding; a higher one is later.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sequence int64 `json:"sequence"`

	// EventID is the event that was stored last.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	EventID string `json:"eventID"`

	// DeliveryDigest is the SHA-256, in hexadecimal digits, of the signed request
	// that brought the event. The very same request again is a replay.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="must be a SHA-256 in 64 hexadecimal digits"
	DeliveryDigest string `json:"deliveryDigest,omitempty"`

	// IssuedAt is the time that the request was signed for.
	// +optional
	IssuedAt *metav1.MicroTime `json:"issuedAt,omitempty"`
}

// InstanceRoleBindingSpec gives a role on an instance to a subject.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.source) || has(self.source)",message="source cannot be removed: it is what keeps late events out",fieldPath=".source",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(oldSelf.source) || !has(self.source)",message="source cannot be added: global management makes bindings of its own",fieldPath=".source",reason=FieldValueForbidden
type InstanceRoleBindingSpec struct {
	// InstanceRef is the instance that the role is given on. It cannot change. The
	// Instance need not exist yet.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="instanceRef cannot change: delete the binding and create another"
	InstanceRef InstanceReference `json:"instanceRef"`

	// Subject is who is given the role. It cannot change.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="subject cannot change: delete the binding and create another"
	Subject BindingSubject `json:"subject"`

	// Role is viewer, editor or admin.
	// +required
	Role Role `json:"role"`

	// Namespaces of the instance that the role is given in. When there are none it
	// is given on the whole instance. They need not exist yet.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Namespaces []string `json:"namespaces,omitempty"`

	// Revoked takes the role away and keeps the object for a while, so that an
	// event of global management that arrives late cannot give it back.
	// +optional
	Revoked bool `json:"revoked,omitempty"`

	// Source is the event of global management that this was written for. It is
	// absent from what a person writes.
	// +optional
	Source *BindingSource `json:"source,omitempty"`
}

// InstanceRoleBindingStatus says where the role has taken effect.
type InstanceRoleBindingStatus struct {
	// Conditions say where the role has taken effect: GlobalReady, InstanceReady,
	// and Ready for both.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the conditions were
	// computed for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// RevokedAt is when the binding was first seen revoked. Some days later it is
	// deleted.
	// +optional
	RevokedAt *metav1.Time `json:"revokedAt,omitempty"`
}

// InstanceRoleBinding gives a role on an instance to a user or a group.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=instancerolebindings,singular=instancerolebinding,scope=Cluster,shortName=irb,categories={kairship}
// +kubebuilder:printcolumn:name="Instance",type=string,JSONPath=`.spec.instanceRef.name`,description="The instance that the role is given on"
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.subject.kind`,description="User or Group"
// +kubebuilder:printcolumn:name="Subject",type=string,JSONPath=`.spec.subject.name`,description="Who is given the role"
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`,description="viewer, editor or admin"
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.namespaces`,description="Where the role is given; everywhere when there are none"
// +kubebuilder:printcolumn:name="Revoked",type=boolean,JSONPath=`.spec.revoked`,description="Whether the role has been taken away again"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the role has taken effect everywhere"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why, or why not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Global",type=string,JSONPath=`.status.conditions[?(@.type=="GlobalReady")].reason`,priority=1,description="How it is with the rules in the global cluster"
// +kubebuilder:printcolumn:name="In Instance",type=string,JSONPath=`.status.conditions[?(@.type=="InstanceReady")].reason`,priority=1,description="How it is with the rules in the instance"
// +kubebuilder:printcolumn:name="Binding ID",type=string,JSONPath=`.spec.source.bindingID`,priority=1,description="What global management calls it"
// +kubebuilder:selectablefield:JSONPath=`.spec.instanceRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.subject.kind`
// +kubebuilder:selectablefield:JSONPath=`.spec.subject.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.role`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name of an InstanceRoleBinding has at most 63 characters",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="has(self.spec.source) == self.metadata.name.startsWith('gm-')",message="names that begin with gm- are for the bindings of global management, which have a spec.source: choose another name, and leave source out",fieldPath=".metadata"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.source) || self.metadata.name.matches('^gm-[0-9a-f]{40}$')",message="the name of a binding of global management is gm- followed by the first 40 hexadecimal digits of the SHA-256 of spec.source.bindingID",fieldPath=".metadata"
type InstanceRoleBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec InstanceRoleBindingSpec `json:"spec"`
	// +optional
	Status InstanceRoleBindingStatus `json:"status,omitempty"`
}

// InstanceRoleBindingList is a list of InstanceRoleBindings.
// +kubebuilder:object:root=true
type InstanceRoleBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []InstanceRoleBinding `json:"items"`
}

// BindingNamePrefix begins the name of every binding that global management
// makes, and of no other.
const BindingNamePrefix = "gm-"

// BindingName is the name of the InstanceRoleBinding for what global management
// calls bindingID, whatever characters that has.
func BindingName(bindingID string) string {
	const digits = 40
	sum := sha256.Sum256([]byte(bindingID))
	return BindingNamePrefix + hex.EncodeToString(sum[:])[:digits]
}
