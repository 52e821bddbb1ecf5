package clusterimport

import (
	"context"
	"fmt"
	"sync"
	"time"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// orphanSchedule are when to look through an instance for orphaned execution namespaces again.
// The zero value is ready for use.
type orphanSchedule struct {
	mu   sync.Mutex
	next map[string]time.Time
}

func (p *orphanSchedule) due(instance string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !now.Before(p.next[instance])
}

func (p *orphanSchedule) again(instance string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[string]time.Time{}
	}
	p.next[instance] = at
}

func (p *orphanSchedule) forget(instance string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, instance)
}

// finishOrphans finishes the orphaned execution namespaces of an instance that no one
// waits for any more: the Cluster no longer exists, or was given up on. What the Works made
// stays in the member, which the event LeftBehind said: the member may have become
// that of another instance since. soon has it look even if it did so lately.
func (d *discovery) finishOrphans(ctx context.Context, instance *v1alpha1.Instance, control *remote, seen []member, soon bool) error {
	now := time.Now()
	if !soon && !d.orphans.due(instance.Name, now) {
		return nil
	}
	global, err := d.globalCluster(ctx)
	if err != nil {
		return err
	}
	if err := d.removeStaleSecrets(ctx, instance, control, global, seen); err != nil {
		return err
	}
	list := &corev1.NamespaceList{}
	ours := client.MatchingLabels{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue, v1alpha1.GlobalClusterLabel: global}
	if err := control.List(ctx, list, ours); err != nil {
		return d.failed(control, err, "list namespaces")
	}
	busy := false
	for i := range list.Items {
		namespace := &list.Items[i]
		name := namespace.Labels[v1alpha1.ClusterLabel]
		if name == "" || namespace.Name != names.GenerateExecutionSpaceName(name) || namespace.DeletionTimestamp.IsZero() {
			continue
		}
		busy = true
		awaited, err := d.awaited(ctx, instance.Name, namespace)
		if err != nil {
			return err
		}
		orphaned, err := d.withoutMember(ctx, control, name)
		if err != nil {
			return err
		}
		if awaited || !orphaned {
			continue
		}
		if err := d.finishExecutionNamespace(ctx, control, namespace, func(context.Context, *workv1alpha1.Work) error { return nil }); err != nil {
			return err
		}
	}
	again := recheckFactor * d.Interval
	if busy {
		again = 0
	}
	d.orphans.again(instance.Name, now.Add(again))
	return nil
}

// awaited reports whether the Cluster that owns an execution namespace still exists and is being
// removed: its own reconciliation finishes the namespace, and deletes the objects in the member.
func (d *discovery) awaited(ctx context.Context, instance string, namespace *corev1.Namespace) (bool, error) {
	cluster := &v1alpha1.Cluster{}
	err := d.Live.Get(ctx, client.ObjectKey{Name: namespace.Labels[v1alpha1.ClusterLabel]}, cluster)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read cluster %q: %w", namespace.Labels[v1alpha1.ClusterLabel], err)
	}
	at := cluster.Status.Membership
	return string(cluster.UID) == namespace.Labels[v1alpha1.OwnerUIDLabel] && at != nil && at.Instance == instance, nil
}
