package instancestatus

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// asked is what a look showed of which control plane it is.
type asked struct {
	// id is the UID of the namespace kube-system; empty when it was not read.
	id string
	// refused means that it was asked for, and not given.
	refused bool
	// fingerprint is that of the credentials.
	fingerprint string
}

// record returns the control plane to store after a look. The control plane that an Instance holds
// stays its own until the Instance is deleted, wherever its credentials lead meanwhile. Only a
// Managed one takes another: its installation makes the control plane, and may make it anew.
func record(mode v1alpha1.InstanceMode, stored *v1alpha1.InstanceControlPlane, look asked) *v1alpha1.InstanceControlPlane {
	switch {
	case look.id == "":
		return stored
	case stored == nil, stored.KubeSystemID != look.id && (stored.Claim != v1alpha1.ClaimHeld || mode == v1alpha1.InstanceModeManaged):
		return &v1alpha1.InstanceControlPlane{KubeSystemID: look.id, Claim: v1alpha1.ClaimPending, CredentialsFingerprint: look.fingerprint}
	case stored.KubeSystemID != look.id:
		return stored
	}
	now := *stored
	now.CredentialsFingerprint = look.fingerprint
	return &now
}

// identified says in a condition what is known of the control plane. The stored
// condition stands while a look has shown nothing.
func identified(now *v1alpha1.InstanceControlPlane, stored *metav1.Condition, look asked, reachable metav1.Condition) metav1.Condition {
	switch {
	case now == nil && look.refused, now != nil && look.refused && look.fingerprint != now.CredentialsFingerprint:
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonIdentityUnreadable,
			"The credentials may not read the namespace kube-system, whose UID tells which control plane it is: let them get it.")
	case now == nil && reachable.Status == metav1.ConditionUnknown:
		return v1alpha1.IdentifiedUnknown(reachable.Reason, reachable.Message)
	case now == nil:
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonPending, "It is not known yet which control plane it is.")
	case now.Claim == v1alpha1.ClaimPending:
		return v1alpha1.IdentifiedUnknown(v1alpha1.ReasonPending, "Other Instances are compared, because one of them may be the same control plane.")
	case now.Claim == v1alpha1.ClaimDuplicate:
		return v1alpha1.NotIdentified(v1alpha1.ReasonDuplicate, fmt.Sprintf(
			"This control plane is registered already, under another name: kubectl get instances --field-selector status.controlPlane.kubeSystemID=%s shows it. "+
				"It is used under that name only. Delete one of the two; if the control plane has another address now, give that Instance the new kubeconfig.", now.KubeSystemID))
	case look.id != "" && look.id != now.KubeSystemID:
		return v1alpha1.NotIdentified(v1alpha1.ReasonOtherControlPlane, fmt.Sprintf(
			"The credentials lead to another control plane (%s) than the one that was registered (%s), so it is not used. "+
				"Give it a kubeconfig of the registered one; or delete this Instance, and register the other one.", look.id, now.KubeSystemID))
	case look.id == "" && stored != nil && stored.Status != metav1.ConditionUnknown && stored.Reason != v1alpha1.ReasonDuplicate:
		return *stored
	}
	return v1alpha1.Identified("It is registered under this name only.")
}

// compete decides on an Instance's claim to its control plane, from one consistent list of all
// Instances that have the same one. It changes the claim only in a version of the Instance that is
// in that list.
//
// Two never hold it at once: the pending claim of an Instance is stored before the list of the
// other claims is read. Of two pending claims at least one therefore sees the other, and then the
// one that comes later in the order withdraws, while the earlier one waits until that has happened.
func compete(self types.UID, all []v1alpha1.Instance) (next v1alpha1.ControlPlaneClaim, at *v1alpha1.Instance) {
	for i := range all {
		if all[i].UID == self {
			at = &all[i]
		}
	}
	if at == nil || at.Status.ControlPlane == nil || !at.DeletionTimestamp.IsZero() {
		return "", nil
	}
	next = v1alpha1.ClaimHeld
	for i := range all {
		other := &all[i]
		if other.UID == self || other.Status.ControlPlane == nil {
			continue
		}
		switch claim := other.Status.ControlPlane.Claim; {
		case claim == v1alpha1.ClaimHeld:
			return v1alpha1.ClaimDuplicate, at // Until it is deleted, also while it is being deleted.
		case claim != v1alpha1.ClaimPending || !other.DeletionTimestamp.IsZero():
		case at.Status.ControlPlane.Claim == v1alpha1.ClaimDuplicate, earlier(other, at):
			next = v1alpha1.ClaimDuplicate
		case next == v1alpha1.ClaimHeld:
			next = v1alpha1.ClaimPending
		}
	}
	if at.Status.ControlPlane.Claim == v1alpha1.ClaimDuplicate && next == v1alpha1.ClaimHeld {
		next = v1alpha1.ClaimPending // Its claim has to be seen by others first.
	}
	return next, at
}

// earlier reports whether a was created before b; of two that were created within the
// same second, the name decides.
func earlier(a, b *v1alpha1.Instance) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
