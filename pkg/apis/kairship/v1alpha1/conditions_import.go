package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionJoined reports whether a Cluster is a member of the instance that its
// spec names. It is False for a free one.
const ConditionJoined = "Joined"

// Reasons of ConditionJoined. ReasonCredentialsMissing, ReasonCredentialsInvalid,
// ReasonNoInstance, ReasonNotAllowed and ReasonUnreachable, which is about the
// cluster itself, are shared with other conditions.
const (
	// ReasonFree means that the cluster is a member of nothing, as the spec wants it.
	ReasonFree = "Free"
	// ReasonJoining means that the cluster is being joined.
	ReasonJoining = "Joining"
	// ReasonJoined means that the cluster is a member, and that Karmada reached it.
	ReasonJoined = "Joined"
	// ReasonLeaving means that the cluster is leaving an instance.
	ReasonLeaving = "Leaving"
	// ReasonBlocked means that the cluster is to leave an instance, and that
	// workloads are still propagated to it.
	ReasonBlocked = "Blocked"
	// ReasonForeign means that another client joined the cluster, or made in it or in
	// the instance what joining needs. It is left alone.
	ReasonForeign = "Foreign"
	// ReasonJoinedElsewhere means that the cluster is a member of another instance,
	// by whatever name.
	ReasonJoinedElsewhere = "JoinedElsewhere"
	// ReasonOtherCluster means that the endpoint leads to another cluster than the
	// one that was registered or joined. It is a reason of ConditionIdentified,
	// ConditionReady and ConditionIndexed, too.
	ReasonOtherCluster = "OtherCluster"
	// ReasonInstanceUnreachable means that the instance does not answer.
	ReasonInstanceUnreachable = "InstanceUnreachable"
	// ReasonInstanceDeleting means that the instance is being deleted: nothing is
	// joined to it any more.
	ReasonInstanceDeleting = "InstanceDeleting"
	// ReasonRejected means that the instance or the cluster does not accept what is
	// to be made there.
	ReasonRejected = "Rejected"
)

// Joined means that the cluster is a member of its instance.
func Joined(message string) metav1.Condition {
	return condition(ConditionJoined, metav1.ConditionTrue, ReasonJoined, message)
}

// NotJoined means that the cluster is not, or not as its spec wants it.
func NotJoined(reason, message string) metav1.Condition {
	return condition(ConditionJoined, metav1.ConditionFalse, reason, message)
}
