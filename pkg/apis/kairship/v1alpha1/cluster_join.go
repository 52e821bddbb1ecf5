package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// JoinCredentials says what an instance is given to reach a member with.
// +kubebuilder:validation:Enum=ServiceAccount;Given
type JoinCredentials string

const (
	// JoinWithServiceAccount gives the instance the token of a service account that
	// is made in the member for it alone.
	JoinWithServiceAccount JoinCredentials = "ServiceAccount"
	// JoinWithGiven gives the instance the credentials of the inventory as they are.
	JoinWithGiven JoinCredentials = "Given"
)

// RemovalPolicy reports whether a member with workloads may leave.
// +kubebuilder:validation:Enum=Block;Force
type RemovalPolicy string

const (
	// RemovalBlock keeps the cluster where it is while workloads are propagated to it.
	RemovalBlock RemovalPolicy = "Block"
	// RemovalForce lets it go: Karmada takes the workloads out of the cluster, and
	// an instance that is not reachable any more is not waited for.
	RemovalForce RemovalPolicy = "Force"
)

// ClusterJoin says how a cluster is joined to its instance, and how it leaves it.
type ClusterJoin struct {
	// Credentials is what the instance is given to reach the cluster with:
	// ServiceAccount for the token of a service account that Kairship makes in the
	// cluster, and takes away when it leaves; Given for the token of
	// credentialsSecretRef as it is, when nothing may be made in the cluster. With
	// Given, restart the instance's karmada-controller-manager after the token
	// changed and before the former one is revoked: it watches the cluster with the
	// token that it had at its start.
	// +optional
	// +kubebuilder:default=ServiceAccount
	Credentials JoinCredentials `json:"credentials,omitempty"`

	// RemovalPolicy says what happens when the cluster is to leave while workloads
	// are propagated to it: Block keeps it until there are none, Force removes them
	// from it. With Force an instance that does not answer is given up after a while
	// too.
	// +optional
	// +kubebuilder:default=Block
	RemovalPolicy RemovalPolicy `json:"removalPolicy,omitempty"`
}

// ClusterMembership is the instance in which something is made for a cluster.
type ClusterMembership struct {
	// Instance is its name.
	Instance string `json:"instance"`

	// UID tells this membership from earlier and later ones of the same cluster. The
	// objects that are made for it carry it as a label.
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// InstanceUID is the UID of that Instance: another one may take its name.
	// +optional
	InstanceUID types.UID `json:"instanceUID,omitempty"`

	// MemberUID is the UID of the cluster's object in the instance. It is known as
	// Kairship's by it, also after the labels were removed.
	// +optional
	MemberUID types.UID `json:"memberUID,omitempty"`

	// KubeSystemID is the UID of the namespace kube-system of the cluster that was
	// joined: a cluster is a member of one instance at most, by whatever name.
	// +optional
	KubeSystemID string `json:"kubeSystemID,omitempty"`

	// Credentials is ServiceAccount once something was made in the cluster, which
	// stays until it leaves; Given while nothing was.
	// +optional
	Credentials JoinCredentials `json:"credentials,omitempty"`

	// LeavingSince is when the cluster began to leave the instance; absent while
	// it stays. From then on things are removed, whatever happens.
	// +optional
	LeavingSince *metav1.Time `json:"leavingSince,omitempty"`
}

// JoinCredentials are what the instance is given; ServiceAccount when nothing is said.
func (s *ClusterSpec) JoinCredentials() JoinCredentials {
	if s.Join == nil || s.Join.Credentials == "" {
		return JoinWithServiceAccount
	}
	return s.Join.Credentials
}

// RemovalPolicy is whether workloads block removal; Block when nothing is said.
func (s *ClusterSpec) RemovalPolicy() RemovalPolicy {
	if s.Join == nil || s.Join.RemovalPolicy == "" {
		return RemovalBlock
	}
	return s.Join.RemovalPolicy
}

// Wants is the name of the instance that a Physical cluster is to be joined to;
// empty when it is to be free, and while it is being deleted.
func (c *Cluster) Wants() string {
	if c.Spec.Type == ClusterTypeVirtual || c.Spec.InstanceRef == nil || !c.DeletionTimestamp.IsZero() {
		return ""
	}
	return c.Spec.InstanceRef.Name
}

// Holds reports whether the Physical cluster stands in the way of removing an
// instance: it is joined to it, is to be joined, or has not left it yet.
func (c *Cluster) Holds(instance string) bool {
	return c.Spec.Type != ClusterTypeVirtual &&
		(c.Wants() == instance || c.Status.Membership != nil && c.Status.Membership.Instance == instance)
}
