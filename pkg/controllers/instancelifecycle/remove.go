package instancelifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/projection"
)

// forced reports whether a user asked not to wait.
func forced(instance *v1alpha1.Instance) bool {
	return instance.Annotations[v1alpha1.ForceDeleteAnnotation] == "true"
}

// waitForClusters keeps an Instance that clusters are joined to: they would be
// left with the objects and the access that the instance gave and took there.
func (r *Reconciler) waitForClusters(ctx context.Context, s *scope) error {
	var clusters v1alpha1.ClusterList
	// Of the virtual ones, of which there are as many as Instances, none is joined.
	err := r.Live.List(ctx, &clusters, client.MatchingFields{"spec.type": string(v1alpha1.ClusterTypePhysical)})
	if apierrors.IsBadRequest(err) {
		err = r.Live.List(ctx, &clusters) // Before Kubernetes 1.31 fields of custom resources cannot be selected.
	}
	if err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	joined := joinedClusters(clusters.Items, s.instance.Name)
	switch {
	case len(joined) == 0:
		s.tell(v1alpha1.Removable(v1alpha1.ReasonRemovable, "No cluster is joined to it."))
	case forced(s.instance):
		s.tell(v1alpha1.Removable(v1alpha1.ReasonForced, fmt.Sprintf("It goes although clusters are joined to it: %s. Nothing in them is changed.", list(joined))))
	default:
		return &phase.Stop{Condition: v1alpha1.NotRemovable(v1alpha1.ReasonClustersJoined, fmt.Sprintf(
			"Clusters are joined to it: %s. Have them leave (spec.instanceRef of the Cluster, or unjoinCluster), or annotate the Instance with %s=true to leave them as they are.",
			list(joined), v1alpha1.ForceDeleteAnnotation))}
	}
	return nil
}

// joinedClusters are the names of the Clusters that hold an Instance, in order.
func joinedClusters(clusters []v1alpha1.Cluster, instance string) []string {
	var names []string
	for i := range clusters {
		if clusters[i].Holds(instance) {
			names = append(names, clusters[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// list names some things; a message has its limits.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// waitForOthers lets the other controllers take out of the instance what they had
// put into it, which they cannot do once it is uninstalled. Each of them gives up
// on its own when the instance does not answer.
func (r *Reconciler) waitForOthers(_ context.Context, s *scope) error {
	if forced(s.instance) || s.instance.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete {
		return nil
	}
	for _, finalizer := range []string{v1alpha1.InstanceAccessFinalizer, v1alpha1.VirtualClusterFinalizer} {
		if controllerutil.ContainsFinalizer(s.instance, finalizer) {
			return &phase.Stop{Condition: v1alpha1.NotRemovable(v1alpha1.ReasonCleaningUpFirst,
				fmt.Sprintf("Before its Karmada is uninstalled, the finalizer %s has to finish.", finalizer))}
		}
	}
	return nil
}

// uninstall has the operator remove the Karmada, or lets it go.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	key := client.ObjectKey{Namespace: conversion.Namespace(s.instance.Name), Name: s.instance.Name}
	karmada := &operatorv1alpha1.Karmada{}
	err := r.Live.Get(ctx, key, karmada)
	retained := s.instance.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete
	switch {
	case unserved(err) && retained:
		// The operator is removed, what it had installed may not be, and this is where
		// its kubeconfig is.
		return r.retain(ctx, s, key)
	case unserved(err), apierrors.IsNotFound(err):
		return r.clean(ctx, s)
	case err != nil:
		return fmt.Errorf("read the Karmada %s: %w", key, err)
	case retained:
		return r.retain(ctx, s, key)
	case !s.owner.Owns(karmada):
		return r.clean(ctx, s) // What belongs to others stays.
	}
	if karmada.DeletionTimestamp.IsZero() {
		uid := karmada.UID
		err := r.Client.Delete(ctx, karmada, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the Karmada %s: %w", key, err)
		}
		if err == nil {
			r.record(s, projection.ActivityDelete)
		}
		r.Metrics.changes.WithLabelValues("uninstalled").Inc()
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "KarmadaDeleted", "Manage", "Asked the operator to uninstall Karmada %s from cluster %q", key, s.instance.Spec.HostCluster)
	}
	if forced(s.instance) {
		// The operator goes on without Kairship, and needs the credentials of the host for it.
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeWarning, "NotWaitedFor", "Manage",
			"The deletion does not wait until Karmada %s is uninstalled; the Secret %s and the namespace %s stay", key, hostSecret(s.instance.Name).NamespacedName(), key.Namespace)
		return nil
	}
	return &phase.Stop{Condition: r.uninstalling(s, karmada), Retry: whileUninstalling}
}

// uninstalling says what an uninstallation waits for.
func (r *Reconciler) uninstalling(s *scope, karmada *operatorv1alpha1.Karmada) metav1.Condition {
	name := fmt.Sprintf("Karmada %s/%s", karmada.Namespace, karmada.Name)
	says := "it says nothing of it"
	if ready := meta.FindStatusCondition(karmada.Status.Conditions, string(operatorv1alpha1.Ready)); ready != nil {
		says = "it says: " + excerpt.Of(ready.Message, mostOfOperator)
	}
	since := s.instance.DeletionTimestamp.Time
	if !karmada.DeletionTimestamp.IsZero() {
		since = karmada.DeletionTimestamp.Time
	}
	if lasted := r.Now().Sub(since); lasted > r.Patience {
		return v1alpha1.NotInstalled(v1alpha1.ReasonUninstallStuck, fmt.Sprintf(
			"The operator has not uninstalled %s within %s; %s. See whether it runs and reaches cluster %q, or annotate the Instance with %s=true to wait no longer.",
			name, r.Patience.Round(time.Second), says, s.instance.Spec.HostCluster, v1alpha1.ForceDeleteAnnotation))
	}
	return v1alpha1.NotInstalled(v1alpha1.ReasonUninstalling, fmt.Sprintf("The operator uninstalls %s from cluster %q; %s.", name, s.instance.Spec.HostCluster, says))
}

// unserved reports whether the global cluster does not know the operator's kind.
func unserved(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// retain lets the Karmada go, with all that the operator needs for it.
func (r *Reconciler) retain(ctx context.Context, s *scope, key client.ObjectKey) error {
	left, err := r.leave(ctx, s, &operatorv1alpha1.Karmada{}, key, map[string]any{v1alpha1.RetainedAnnotation: s.instance.Spec.HostCluster})
	if err != nil && !unserved(err) {
		return err
	}
	if left {
		r.Metrics.changes.WithLabelValues("retained").Inc()
		r.record(s, projection.ActivityPatch)
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "Retained", "Manage",
			"Karmada %s stays on cluster %q, as deletionPolicy says. A Managed Instance %q on the same host takes it over", key, s.instance.Spec.HostCluster, s.instance.Name)
	}
	if _, err := r.leave(ctx, s, &corev1.Secret{}, hostSecret(s.instance.Name).NamespacedName(), nil); err != nil {
		return err
	}
	_, err = r.leave(ctx, s, &corev1.Namespace{}, client.ObjectKey{Name: key.Namespace}, nil)
	return err
}

// clean removes what only the operator needed.
func (r *Reconciler) clean(ctx context.Context, s *scope) error {
	if err := r.remove(ctx, s, &corev1.Secret{}, hostSecret(s.instance.Name).NamespacedName()); err != nil {
		return err
	}
	namespace := client.ObjectKey{Name: conversion.Namespace(s.instance.Name)}
	theirs, err := r.foreignObjects(ctx, s, namespace.Name)
	if err != nil {
		return err
	}
	if len(theirs) == 0 {
		return r.remove(ctx, s, &corev1.Namespace{}, namespace)
	}
	left, err := r.leave(ctx, s, &corev1.Namespace{}, namespace, nil)
	if left {
		r.Recorder.Eventf(s.instance, nil, corev1.EventTypeWarning, "NamespaceLeft", "Manage",
			"The namespace %s stays, because it contains objects of other owners: %s", namespace.Name, list(theirs))
	}
	return err
}

// remove deletes an object that is the Instance's.
func (r *Reconciler) remove(ctx context.Context, s *scope, object client.Object, key client.ObjectKey) error {
	err := r.Live.Get(ctx, key, object)
	if apierrors.IsNotFound(err) || err == nil && (!s.owner.Owns(object) || !object.GetDeletionTimestamp().IsZero()) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	uid := object.GetUID()
	if err := r.Client.Delete(ctx, object, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// release lets the Instance go.
func (r *Reconciler) release(ctx context.Context, s *scope) error {
	s.gone = true
	return finalizer.Release(ctx, r.Client, s.instance, v1alpha1.LifecycleFinalizer)
}
