package instancestatus

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// kubeSystemIDField selects the Instances of one control plane.
const kubeSystemIDField = "status.controlPlane.kubeSystemID"

// controlPlaneField is where the claim is. What another replica has stored there is not
// removed by one that has not seen it.
const controlPlaneField = "controlPlane"

// attempts are how often a claim is decided anew because the Instance was written
// meanwhile, as new ones are by several controllers.
const attempts = 5

// errBusy means that the claim could not be decided because the Instance was written
// again and again.
var errBusy = errors.New("the Instance is written by others again and again")

// open reports whether the claim is not decided, or may be decided otherwise by now.
func open(instance *v1alpha1.Instance, now *v1alpha1.InstanceControlPlane) bool {
	return now != nil && now.Claim != v1alpha1.ClaimHeld && instance.DeletionTimestamp.IsZero()
}

// write stores the status that a look has led to, and decides the claim where it is
// open. It returns the status as it is stored then.
func (r *Reconciler) write(ctx context.Context, instance *v1alpha1.Instance, v decision) (v1alpha1.InstanceStatus, error) {
	before := own(instance.Status)
	now := v.next.ControlPlane
	if !open(instance, now) || now.Claim == v1alpha1.ClaimDuplicate && r.held(ctx, instance, now.KubeSystemID) {
		after := v.conclude(instance, now)
		return after, status.Apply(ctx, r.Client, instance, Name, &before, &after, controlPlaneField)
	}
	if now.Claim == v1alpha1.ClaimPending {
		claimed := before
		claimed.ControlPlane = now
		if err := status.Apply(ctx, r.Client, instance, Name, &before, &claimed, controlPlaneField); err != nil {
			return before, err
		}
	}
	for range attempts {
		list := &v1alpha1.InstanceList{}
		if err := r.Live.List(ctx, list, client.MatchingFields{kubeSystemIDField: now.KubeSystemID}); err != nil {
			return before, fmt.Errorf("find the Instances of control plane %s: %w", now.KubeSystemID, err)
		}
		claim, at := compete(instance.UID, list.Items)
		if at == nil || at.Status.ControlPlane.Claim != now.Claim {
			return before, nil // Another replica leads, or it is being deleted.
		}
		decided := *now
		decided.Claim = claim
		stored, after := own(at.Status), v.conclude(instance, &decided)
		err := status.ApplyExact(ctx, r.Client, at, Name, &stored, &after)
		switch {
		case apierrors.IsConflict(err):
			continue
		case err != nil:
			return before, err
		case now.Claim == v1alpha1.ClaimDuplicate && claim == v1alpha1.ClaimPending:
			now = &decided
			continue
		}
		return after, nil
	}
	return before, fmt.Errorf("decide the claim of Instance %q: %w", instance.Name, errBusy)
}

// held reports whether another Instance has the control plane, as far as the cache
// knows: what it does not know yet will lead to another look.
func (r *Reconciler) held(ctx context.Context, instance *v1alpha1.Instance, id string) bool {
	list := &v1alpha1.InstanceList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return true
	}
	for i := range list.Items {
		if list.Items[i].UID != instance.UID && list.Items[i].Holds(id) {
			return true
		}
	}
	return false
}

// duplicatesOf are the Instances that wait for the control plane of another one.
func (r *Reconciler) duplicatesOf(ctx context.Context, gone client.Object) (found []string) {
	instance, is := gone.(*v1alpha1.Instance)
	list := &v1alpha1.InstanceList{}
	if !is || instance.Status.ControlPlane == nil || r.Client.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return nil // They are looked at again anyway, a little later.
	}
	for i := range list.Items {
		c := list.Items[i].Status.ControlPlane
		if c != nil && c.KubeSystemID == instance.Status.ControlPlane.KubeSystemID && c.Claim != v1alpha1.ClaimHeld {
			found = append(found, list.Items[i].Name)
		}
	}
	return found
}

// undecided reports whether the claim has to be decided soon.
func undecided(after v1alpha1.InstanceStatus, deleting *metav1.Time) bool {
	return after.ControlPlane != nil && after.ControlPlane.Claim == v1alpha1.ClaimPending && deleting.IsZero()
}
