package operation

import (
	"cmp"
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// underWay are the reasons of condition Joined that mean work and no failure.
var underWay = []string{"", v1alpha1.ReasonFree, v1alpha1.ReasonJoining, v1alpha1.ReasonJoined, v1alpha1.ReasonLeaving, v1alpha1.ReasonBlocked}

// credentialsFail are the reasons of condition Joined for which the cluster itself can't be used.
var credentialsFail = []string{v1alpha1.ReasonCredentialsMissing, v1alpha1.ReasonCredentialsInvalid, v1alpha1.ReasonUnreachable, v1alpha1.ReasonNotAllowed}

// joining returns how far a cluster of the inventory has come into an instance: nil
// for a cluster, or a member, that there is none of.
func joining(op Operation, c *v1alpha1.Cluster, member *clusterv1alpha1.Cluster) finding {
	var f finding
	switch {
	case c == nil:
		f.trouble = &trouble{ReasonDeleted, fmt.Sprintf("cluster %s was removed from the inventory", op.Cluster), true}
	case c.Spec.InstanceRef == nil || c.Spec.InstanceRef.Name != op.Instance:
		f.trouble = &trouble{ReasonWithdrawn, fmt.Sprintf("%s is no longer to be joined to %s", op.Cluster, op.Instance), true}
	}
	joined := joinedOf(c)
	if f.trouble == nil && !slices.Contains(underWay, joined.Reason) {
		f.trouble = &trouble{joined.Reason, joined.Message, false}
	}
	if f.trouble == nil {
		f.waits = joined.Message
	}
	in := joined.Status == metav1.ConditionTrue
	works := in || member != nil || (c != nil && joined.Reason != "" && !slices.Contains(credentialsFail, joined.Reason) && cmp.Or(joined.Reason, v1alpha1.ReasonFree) != v1alpha1.ReasonFree)
	ready := member != nil && meta.IsStatusConditionTrue(member.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	f.steps = sequence(
		one(StepWritten, c != nil && (f.trouble == nil || !f.trouble.final), ""),
		one(StepCredentials, works, joined.Message),
		one(StepRegistered, in && member != nil, joined.Message),
		one(StepReady, in && ready, notReady(member)),
	)
	if member != nil {
		f.clusters = []Cluster{{Name: op.Cluster, Objects: 1, Applied: 1}}
		if ready {
			f.clusters[0].Healthy = 1
		}
	}
	return f
}

// leaving returns the progress of removing a cluster from an instance.
func leaving(op Operation, c *v1alpha1.Cluster, member *clusterv1alpha1.Cluster) finding {
	var f finding
	asked := c == nil || c.DeletionTimestamp != nil || c.Spec.InstanceRef == nil || c.Spec.InstanceRef.Name != op.Instance
	joined := joinedOf(c)
	switch {
	case !asked:
		f.trouble = &trouble{ReasonWithdrawn, fmt.Sprintf("%s is to be a member of %s again", op.Cluster, op.Instance), true}
	case joined.Reason == v1alpha1.ReasonBlocked:
		f.waits = joined.Message
	case !slices.Contains(underWay, joined.Reason) && member != nil:
		f.trouble = &trouble{joined.Reason, joined.Message, false}
	}
	left := member == nil && (c == nil || c.Status.Membership == nil || c.Status.Membership.Instance != op.Instance)
	f.steps = sequence(one(StepWritten, asked, ""), one(StepLeft, asked && left, joined.Message))
	return f
}

func joinedOf(c *v1alpha1.Cluster) metav1.Condition {
	if c == nil {
		return metav1.Condition{}
	}
	found := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionJoined)
	// What was observed of an earlier wish says nothing about this one.
	if found == nil || (found.ObservedGeneration != 0 && found.ObservedGeneration < c.Generation) {
		return metav1.Condition{}
	}
	return *found
}

func notReady(member *clusterv1alpha1.Cluster) string {
	if member == nil {
		return ""
	}
	c := meta.FindStatusCondition(member.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	if c == nil {
		return "Karmada has not looked at it yet"
	}
	return c.Message
}
