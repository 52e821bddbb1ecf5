package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ControlPlaneClaim reports whether a control plane is an Instance's own.
// +kubebuilder:validation:Enum=Pending;Held;Duplicate
type ControlPlaneClaim string

const (
	// ClaimPending means that the Instance asks for the control plane: none that
	// asks later gets it until this one is decided.
	ClaimPending ControlPlaneClaim = "Pending"
	// ClaimHeld means that the control plane is this Instance's. At most one
	// Instance holds a control plane, until that Instance no longer exists.
	ClaimHeld ControlPlaneClaim = "Held"
	// ClaimDuplicate means that another Instance holds the control plane.
	ClaimDuplicate ControlPlaneClaim = "Duplicate"
)

// InstanceControlPlane identifies the control plane of an Instance.
type InstanceControlPlane struct {
	// KubeSystemID is the UID of the control plane's namespace kube-system.
	// +required
	// +kubebuilder:validation:MaxLength=128
	KubeSystemID string `json:"kubeSystemID"`

	// Claim reports whether the control plane is this Instance's: Held, Duplicate when
	// another Instance holds it, Pending until that is decided.
	// +required
	Claim ControlPlaneClaim `json:"claim"`

	// CredentialsFingerprint is a hash of the endpoint and the credentials that led
	// to the control plane when it was last asked which one it is. Changed
	// credentials are used once they have been seen to lead there.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	CredentialsFingerprint string `json:"credentialsFingerprint,omitempty"`
}

// ConditionIdentified reports whether it is known which control plane an Instance is,
// and whether that is this Instance's alone; of a Physical Cluster, whether its endpoint
// leads to the cluster that was registered.
const ConditionIdentified = "Identified"

// Reasons of ConditionIdentified, besides ReasonPending, ReasonCredentialsMissing,
// ReasonCredentialsInvalid and ReasonDeleting.
const (
	// ReasonIdentified means that the control plane is registered once, or that the
	// cluster is the one that was registered.
	ReasonIdentified = "Identified"
	// ReasonDuplicate means that another Instance holds the same control plane.
	ReasonDuplicate = "Duplicate"
	// ReasonOtherControlPlane means that the credentials lead to another control
	// plane than the one that the Instance was registered with.
	ReasonOtherControlPlane = "OtherControlPlane"
	// ReasonIdentityUnreadable means that the credentials may not read the namespace
	// kube-system.
	ReasonIdentityUnreadable = "IdentityUnreadable"
)

// Identified means that the control plane is known and registered once, or that the
// cluster is the one that was registered.
func Identified(message string) metav1.Condition {
	return condition(ConditionIdentified, metav1.ConditionTrue, ReasonIdentified, message)
}

// NotIdentified means that the control plane is not this Instance's, or that the
// cluster is another one than was registered.
func NotIdentified(reason, message string) metav1.Condition {
	return condition(ConditionIdentified, metav1.ConditionFalse, reason, message)
}

// IdentifiedUnknown means that it is not known which control plane or cluster it is.
func IdentifiedUnknown(reason, message string) metav1.Condition {
	return condition(ConditionIdentified, metav1.ConditionUnknown, reason, message)
}

// NotItsOwn is the condition of an Instance whose credentials lead to a control
// plane that is not its own, and nil for any other. Such an Instance is not used.
func (i *Instance) NotItsOwn() *metav1.Condition {
	c := meta.FindStatusCondition(i.Status.Conditions, ConditionIdentified)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}

// Holds reports whether the control plane with the UID of its namespace kube-system
// is this Instance's, or is about to be.
func (i *Instance) Holds(kubeSystemID string) bool {
	c := i.Status.ControlPlane
	return c != nil && c.KubeSystemID == kubeSystemID && c.Claim != ClaimDuplicate
}

// ProvenBy reports whether credentials with this fingerprint have been seen to lead
// to the control plane that the Instance holds.
func (i *Instance) ProvenBy(fingerprint string) bool {
	c := i.Status.ControlPlane
	return i.NotItsOwn() == nil && c != nil && c.Claim == ClaimHeld && c.CredentialsFingerprint == fingerprint
}
