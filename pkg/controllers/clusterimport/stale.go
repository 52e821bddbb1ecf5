package clusterimport

import (
	"context"
	"fmt"
	"slices"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
)

// removeStale removes from an instance the object of a member that a process made late,
// when the membership for which it was had ended. Karmada was not let in: what it was
// let into is never removed here.
func (d *discovery) removeStale(ctx context.Context, instance *v1alpha1.Instance, control *remote, seen []member) error {
	global, err := d.globalCluster(ctx)
	if err != nil {
		return err
	}
	for _, m := range seen {
		if !m.reserved || m.deleting || !m.managed || m.global != global || m.membership == "" {
			continue
		}
		karmada := &clusterv1alpha1.Cluster{}
		err := control.Get(ctx, client.ObjectKey{Name: m.name}, karmada)
		if client.IgnoreNotFound(err) != nil {
			return d.failed(control, err, "read Cluster %q", m.name)
		}
		if err != nil || !isReserved(karmada) || karmada.Labels[v1alpha1.MembershipLabel] != m.membership {
			continue
		}
		if err := d.deleteStale(ctx, instance, control, karmada); err != nil {
			return err
		}
	}
	return nil
}

// removeStaleSecrets does the same with the Secrets of members that the instance does
// not have.
func (d *discovery) removeStaleSecrets(ctx context.Context, instance *v1alpha1.Instance, control *remote, global string, seen []member) error {
	secrets := &corev1.SecretList{}
	ours := client.MatchingLabels{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue, v1alpha1.GlobalClusterLabel: global}
	if err := control.List(ctx, secrets, client.InNamespace(joinNamespace), ours, client.HasLabels{v1alpha1.MembershipLabel}); err != nil {
		return d.failed(control, err, "list Secrets")
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if slices.ContainsFunc(seen, func(m member) bool { return m.name == secret.Labels[v1alpha1.ClusterLabel] }) {
			continue
		}
		if err := d.deleteStale(ctx, instance, control, secret); err != nil {
			return err
		}
	}
	return nil
}

// deleteStale deletes an object in an instance, as it was read before, unless the
// membership that it was made for is the one that is recorded.
func (d *discovery) deleteStale(ctx context.Context, instance *v1alpha1.Instance, control *remote, object client.Object) error {
	labels, cluster := object.GetLabels(), &v1alpha1.Cluster{}
	err := d.Live.Get(ctx, client.ObjectKey{Name: labels[v1alpha1.ClusterLabel]}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read cluster %q: %w", labels[v1alpha1.ClusterLabel], err)
	}
	at := cluster.Status.Membership
	if err == nil && string(cluster.UID) == labels[v1alpha1.OwnerUIDLabel] && at != nil && string(at.UID) == labels[v1alpha1.MembershipLabel] {
		return nil
	}
	err = deleteAsRead(ctx, control, object)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is not what it was, and looked at again.
	}
	if err != nil {
		return d.failed(control, err, "delete %s %q", kindOf(object), object.GetName())
	}
	d.recordMember(instance, projection.ActivityDelete, object)
	log.FromContext(ctx).Info("Removed what was made for an earlier membership", "kind", kindOf(object), "name", object.GetName())
	return nil
}
