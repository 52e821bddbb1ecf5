package clusterimport

import (
	"context"
	"fmt"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// discoveryName is the name of the second controller of this package.
const discoveryName = Name + "-discovery"

// membersPage is how many members are read at a time.
const membersPage = 200

// discovery looks at the members of one instance, again and again: one request
// finds which clusters were joined by others, and which of ours were changed or removed.
// The Clusters that this concerns are woken. What Karmada left of members of ours
// that is not waited for is finished.
type discovery struct {
	*Reconciler
	wake chan event.GenericEvent

	orphans orphanSchedule
}

// Reconcile looks at the members of one instance.
func (d *discovery) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	instance := &v1alpha1.Instance{}
	err := d.Client.Get(ctx, request.NamespacedName, instance)
	if apierrors.IsNotFound(err) {
		d.instances.forget(request.Name)
		d.orphans.forget(request.Name)
		d.Metrics.foreign.DeleteLabelValues(request.Name)
		return ctrl.Result{}, d.tell(ctx, d.memberCache.forget(request.Name))
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read instance %q: %w", request.Name, err)
	}
	begun := time.Now()
	seen, control, err := d.look(ctx, instance)
	if err != nil {
		if ctx.Err() != nil {
			return ctrl.Result{}, ctx.Err()
		}
		// The instance's own conditions report that it does not answer. The last known members
		// count.
		d.memberCache.tried(instance.Name)
		return ctrl.Result{RequeueAfter: probe.Next(d.Interval)}, nil
	}
	changed := d.memberCache.put(instance.Name, begun, seen)
	foreigners := 0
	for _, m := range seen {
		if !m.managed {
			foreigners++
		}
	}
	d.Metrics.foreign.WithLabelValues(instance.Name).Set(float64(foreigners))
	if err := d.removeStale(ctx, instance, control, seen); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("Cannot remove what was made for an earlier membership", "instance", instance.Name, "cause", err.Error())
	}
	if err := d.finishOrphans(ctx, instance, control, seen, len(changed) > 0); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("Cannot finish what Karmada left of former members", "instance", instance.Name, "cause", err.Error())
	}
	return ctrl.Result{RequeueAfter: probe.Next(d.Interval)}, d.tell(ctx, changed)
}

func (d *discovery) look(ctx context.Context, instance *v1alpha1.Instance) ([]member, *remote, error) {
	to, err := d.Credentials.OfInstance(ctx, instance)
	if err != nil {
		return nil, nil, err
	}
	control, err := d.reach(inInstance, instance.Name, to)
	if err != nil {
		return nil, nil, err
	}
	global, err := d.globalCluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	var seen []member
	list := &clusterv1alpha1.ClusterList{}
	for {
		if err := control.List(ctx, list, client.Limit(membersPage), client.Continue(list.Continue)); err != nil {
			return nil, nil, err
		}
		for i := range list.Items {
			one := memberOf(instance.Name, &list.Items[i])
			seen = append(seen, one)
			if !one.deleting || !one.managed || one.global != global {
				continue
			}
			// Its Cluster may have stopped to wait for it, and nothing of it should remain.
			if err := d.remind(ctx, control, &list.Items[i]); err != nil {
				return nil, nil, err
			}
		}
		if list.Continue == "" {
			return seen, control, nil
		}
	}
}

// tell enqueues the Clusters that members belong to: by name, by owner label, or by the UID of
// kube-system.
func (d *discovery) tell(ctx context.Context, members []member) error {
	if len(members) == 0 {
		return nil
	}
	list := &v1alpha1.ClusterList{}
	if err := d.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	for i := range list.Items {
		cluster := &list.Items[i]
		if !concerns(cluster, members) {
			continue
		}
		named := &v1alpha1.Cluster{}
		named.Name = cluster.Name
		select {
		case d.wake <- event.GenericEvent{Object: named}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func concerns(cluster *v1alpha1.Cluster, members []member) bool {
	for _, m := range members {
		if m.name == cluster.Name || m.owner == string(cluster.UID) || m.id != "" && m.id == cluster.Status.KubeSystemID {
			return true
		}
	}
	return false
}

// discovered reports whether every instance was looked at, successfully or not.
func (r *Reconciler) discovered(ctx context.Context) (bool, error) {
	list := &v1alpha1.InstanceList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list instances: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return r.memberCache.knows(names), nil
}

// recover finds in the instances what a record that got lost, as when the Cluster
// was restored from a backup without its status, had said, and writes it down again.
func (r *Reconciler) recover(ctx context.Context, s *scope) error {
	if s.membership != nil {
		return nil
	}
	found := r.memberCache.ours(s.ownerLabels)
	if found == nil {
		return nil
	}
	instance := found.instance
	if found.madeFor != "" { // The same control plane may be registered twice.
		instance = found.madeFor
	}
	s.membership = &v1alpha1.ClusterMembership{
		Instance: instance, UID: types.UID(found.membership), MemberUID: types.UID(found.uid), KubeSystemID: found.id,
		Credentials: v1alpha1.JoinWithServiceAccount, // To clean up where nothing was made does no harm.
	}
	s.ownerLabels.instance, s.ownerLabels.membership = instance, found.membership
	return s.save(ctx, r)
}

func requestFor(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
}
