package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// whileRemoving is the pause before checking again whether Karmada has removed its workloads from a
// member.
const whileRemoving = time.Second

// findFormer reads the instance that the cluster is removed from, if it still exists.
func (r *Reconciler) findFormer(ctx context.Context, s *scope) error {
	name := s.membership.Instance
	if s.cluster.Spec.RemovalPolicy() == v1alpha1.RemovalForce {
		if err := r.beginToLeave(ctx, s); err != nil { // Nothing can hold it back.
			return err
		}
	}
	instance, err := r.readInstance(ctx, name)
	if err != nil {
		return err
	}
	if instance == nil {
		s.leftBehindf("everything in the control plane that was Instance %q, which is not registered any more", name)
		return nil
	}
	s.instance = instance
	to, err := r.Credentials.OfInstance(ctx, instance)
	switch {
	case errors.Is(err, connection.ErrMissing), errors.Is(err, connection.ErrInvalid):
		if r.lost(s) {
			s.leftBehindf("everything in instance %q, which has no usable credentials", name)
			return nil
		}
		return &phase.Stop{Retry: r.pauses.next(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving,
			fmt.Sprintf("The cluster cannot leave instance %q, which has no usable credentials: %v", name, err))}
	case err != nil:
		return fmt.Errorf("connect to instance %q: %w", name, err)
	}
	s.control, err = r.reach(inInstance, name, to)
	return err
}

// lost reports whether a forced removal has waited long enough for the instance.
func (r *Reconciler) lost(s *scope) bool {
	return s.cluster.Spec.RemovalPolicy() == v1alpha1.RemovalForce && r.patienceIsOver(s)
}

func (r *Reconciler) patienceIsOver(s *scope) bool {
	return s.membership.LeavingSince != nil && time.Since(s.membership.LeavingSince.Time) > r.Patience
}

// lookInFormer reads what the instance has of the cluster.
func (r *Reconciler) lookInFormer(ctx context.Context, s *scope) error {
	if s.control == nil {
		return nil
	}
	karmada := &clusterv1alpha1.Cluster{}
	err := s.control.Get(ctx, client.ObjectKey{Name: s.cluster.Name}, karmada)
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil
	case err != nil && r.lost(s):
		s.leftBehindf("everything in instance %q, which does not answer", s.membership.Instance)
		s.control = nil
		r.memberCache.drop(s.ownerLabels.uid) // Until it is seen again.
		return nil
	case err != nil:
		return r.failed(s.control, err, "read Cluster %q", s.cluster.Name)
	case s.isOurs(karmada):
		s.karmada = karmada
	}
	return nil
}

// beginToLeave records that the removal of the cluster has begun. From then on it can't be
// cancelled.
func (r *Reconciler) beginToLeave(ctx context.Context, s *scope) error {
	if s.membership.LeavingSince != nil {
		return nil
	}
	now := metav1.Now().Rfc3339Copy()
	s.membership.LeavingSince = &now
	r.pauses.forget(s.cluster.Name) // What was waited for before is another matter.
	leaving := v1alpha1.NotJoined(v1alpha1.ReasonLeaving, fmt.Sprintf("The cluster is leaving instance %q.", s.membership.Instance))
	s.joined = &leaving
	r.clocks.begin(s.cluster.Name, "leave")
	r.notef(s, "Leaving", "The cluster begins to leave instance %q", s.membership.Instance)
	return s.save(ctx, r)
}

// cleanUpMember deletes the objects in the cluster that were created for the instance. It waits for
// a cluster that cannot be reached; but not for long when its Cluster is being deleted, because
// then it may no longer exist.
func (r *Reconciler) cleanUpMember(ctx context.Context, s *scope) error {
	if s.membership.Credentials != v1alpha1.JoinWithServiceAccount {
		return nil
	}
	to, err := r.Credentials.OfCluster(ctx, s.cluster)
	missing := errors.Is(err, connection.ErrMissing) || errors.Is(err, connection.ErrInvalid)
	if err != nil && !missing {
		return fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	if err == nil {
		if s.member, err = r.reach(inMember, s.cluster.Name, to); err != nil {
			return err
		}
		err = r.cleanRightMember(ctx, s)
	}
	if err == nil || ctx.Err() != nil || s.outdated {
		return err
	}
	if s.deleting() && r.patienceIsOver(s) {
		s.leftBehindf("in the cluster the service accounts karmada-* in namespace %q, with their ClusterRole and its binding (%s)", joinNamespace, strings.TrimSuffix(why(err), "."))
		return nil
	}
	if missing {
		return r.cannotBeCleaned(s, err)
	}
	return err
}

// cannotBeCleaned waits for usable credentials of a cluster that is being removed.
func (r *Reconciler) cannotBeCleaned(s *scope, err error) error {
	return &phase.Stop{Retry: r.pauses.next(s.cluster.Name), Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving,
		fmt.Sprintf("The cluster is leaving instance %q, and cannot be cleaned: %v", s.membership.Instance, err))}
}

// cleanRightMember cleans the member, if it is still the one that was joined.
func (r *Reconciler) cleanRightMember(ctx context.Context, s *scope) error {
	if err := r.cleanMember(ctx, s); err != nil {
		return err
	}
	// Karmada gives every member this role, and takes it away with all that it
	// propagated: where it is still there, Karmada did not reach the cluster.
	role := &rbacv1.ClusterRole{}
	err := s.member.Get(ctx, client.ObjectKey{Name: impersonator}, role)
	if client.IgnoreNotFound(err) != nil {
		return r.failed(s.member, err, "read ClusterRole %q", impersonator)
	}
	if err == nil && role.Labels[karmadautil.ManagedByKarmadaLabel] == karmadautil.ManagedByKarmadaLabelValue {
		s.leftBehindf("in the cluster what Karmada had propagated to it, because Karmada did not reach it any more (label %s=%s)",
			karmadautil.ManagedByKarmadaLabel, karmadautil.ManagedByKarmadaLabelValue)
	}
	if s.membership.KubeSystemID == "" {
		return nil
	}
	id, err := r.systemIDOf(ctx, s.member)
	if err != nil {
		return err
	}
	if id != s.membership.KubeSystemID {
		s.leftBehindf("what was made in the cluster that was joined (%s), to which the endpoint does not lead any more", s.membership.KubeSystemID)
	}
	return nil
}

// why says an error that is being given up on to a person.
func why(err error) string {
	var failed *requestError
	var stop *phase.Stop
	switch {
	case errors.As(err, &failed):
		return failed.condition().Message
	case errors.As(err, &stop) && stop.Condition.Message != "":
		return stop.Condition.Message
	}
	return err.Error()
}

// forgetMembership removes the record, because nothing is left, or nothing that a caller
// waits for. That is a write of its own: the next membership is recorded only where
// there is none.
func (r *Reconciler) forgetMembership(ctx context.Context, s *scope) error {
	instance, behind := s.membership.Instance, s.behind()
	s.hasLeft = true
	s.membership, s.instance, s.control, s.member, s.karmada = nil, nil, nil, nil, nil
	free := v1alpha1.NotJoined(v1alpha1.ReasonFree, freeMessage+behind)
	s.joined = &free
	if err := s.save(ctx, r); err != nil {
		return err
	}
	s.ownerLabels.membership = ""
	if behind != "" {
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeWarning, "LeftBehind", "Leave", "The cluster left instance %q.%s", instance, behind)
	} else {
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "Left", "Leave", "The cluster left instance %q, and nothing of it remains", instance)
	}
	r.ended(s.cluster.Name, "leave")
	r.pauses.forget(s.cluster.Name)
	r.members.forget(s.cluster.Name)
	r.memberCache.drop(s.ownerLabels.uid) // Else the record would be found again in what was seen there last.
	return nil
}

// freeMessage is the message of condition Joined for a cluster that is free.
const freeMessage = "The cluster is a member of no instance."

// forsake begins a membership anew whose object was removed from the instance. A user
// removed it; or the instance's name or credentials now lead to another control
// plane, and the former one must not go on with a cluster that becomes a member of
// this one: so the tokens that it has are revoked first.
func (r *Reconciler) forsake(ctx context.Context, s *scope) error {
	if err := r.connectMember(ctx, s); err != nil {
		return err
	}
	if s.membership.Credentials == v1alpha1.JoinWithServiceAccount {
		var busy *phase.Stop
		if err := r.cleanMember(ctx, s); errors.As(err, &busy) {
			return &phase.Stop{Retry: busy.Retry, Condition: v1alpha1.NotJoined(v1alpha1.ReasonJoining, fmt.Sprintf(
				"Instance %q does not have the cluster any more. It is joined again when what was made for the former join is gone.", s.membership.Instance))}
		} else if err != nil {
			return err
		}
	}
	if former := s.membership.InstanceUID; former == "" || former == s.instance.UID {
		// Should the cluster not be joined again, they would not be looked for any more.
		if err := r.removeSecrets(ctx, s); err != nil {
			return err
		}
	}
	if err := r.forgetMembership(ctx, s); err != nil {
		return err
	}
	return &phase.Stop{Retry: whileBusy}
}

// release lets the Cluster go: nothing is left of it elsewhere.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	if controllerutil.ContainsFinalizer(s.cluster, v1alpha1.ClusterImportFinalizer) {
		free := s.cluster.DeepCopy()
		if err := finalizer.Release(ctx, r.Client, free, v1alpha1.ClusterImportFinalizer); err != nil {
			return err
		}
		s.cluster = free
	}
	if s.deleting() {
		s.released = true
		r.Metrics.forget(s.cluster.Name)
	}
	return nil
}

// rest reports that the cluster is free, or whose it is when Kairship did not join it.
func (r *Reconciler) rest(_ context.Context, s *scope) error {
	if s.released {
		return nil
	}
	free := v1alpha1.NotJoined(v1alpha1.ReasonFree, freeMessage+s.behind())
	if found := r.memberCache.joinedByOthers(s.ownerLabels, s.cluster.Name, s.cluster.Status.KubeSystemID); found != nil {
		free = found.condition("")
	} else if !s.hasLeft && s.wasLeftBehind() {
		return nil // What was left behind stays said until the cluster is joined again.
	}
	s.joined = &free
	return nil
}
