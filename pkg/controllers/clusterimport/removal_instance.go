package clusterimport

import (
	"context"
	"fmt"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util/names"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// removeFromInstance removes the cluster from the instance: first Karmada's object, with
// which Karmada takes its workloads out of the cluster, then what that needed.
func (r *Reconciler) removeFromInstance(ctx context.Context, s *scope) error {
	if s.control == nil {
		return nil
	}
	if s.karmada != nil {
		if s.karmada.DeletionTimestamp.IsZero() {
			if err := r.markExecutionNamespace(ctx, s); err != nil {
				return err
			}
			if err := r.delete(ctx, s, s.control, s.karmada); err != nil {
				return err
			}
		}
		r.memberCache.drop(s.ownerLabels.uid)
		if err := r.remind(ctx, s.control, s.karmada); err != nil {
			return err
		}
		if !r.lost(s) {
			return &phase.Stop{Retry: whileRemoving, Condition: v1alpha1.NotJoined(v1alpha1.ReasonLeaving, fmt.Sprintf(
				"Karmada is taking its workloads out of the cluster, which is leaving instance %q. If this lasts, see whether karmada-controller-manager and karmada-scheduler are up there.", s.membership.Instance))}
		}
		s.leftBehindf("Cluster %q in instance %q, which Karmada is still removing", s.cluster.Name, s.membership.Instance)
	} else if err := r.removeExecutionNamespace(ctx, s); err != nil {
		return err
	}
	return r.removeSecrets(ctx, s)
}

// removeSecrets takes the tokens back that the instance was given.
func (r *Reconciler) removeSecrets(ctx context.Context, s *scope) error {
	for _, secret := range secretsFor(s.cluster.Name, handover{}) {
		if err := r.remove(ctx, s, s.control, secret); err != nil {
			return err
		}
	}
	return nil
}

// tooLong is how long Karmada may take to remove a workload from a member before it is reminded,
// and the time between two reminders.
const tooLong = 10 * time.Second

// reminders holds the times of the last reminders, by control plane and member.
type reminders struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether it is time for another reminder, and if so records it.
func (m *reminders) due(of string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.last[of]) < tooLong {
		return false
	}
	if m.last == nil {
		m.last = map[string]time.Time{}
	}
	for other, at := range m.last { // No reminder asks for removed members again.
		if now.Sub(at) > time.Hour {
			delete(m.last, other)
		}
	}
	m.last[of] = now
	return true
}

// remind has Karmada look again at what it is to remove from a member. It gives
// that up once it finds the member not ready; but until it does, it tries again and
// again, and pauses for up to a quarter of an hour, even after the member is back.
func (r *Reconciler) remind(ctx context.Context, control *remote, karmada *clusterv1alpha1.Cluster) error {
	if karmada.DeletionTimestamp.IsZero() {
		return nil
	}
	ready, now := readiness(karmada), time.Now()
	away := ready != nil && ready.Status != metav1.ConditionTrue
	again := now.Sub(karmada.DeletionTimestamp.Time) > tooLong && r.reminders.due(control.endpoint+"/"+karmada.Name, now)
	if !away && !again {
		return nil
	}
	works := &workv1alpha1.WorkList{}
	if err := control.List(ctx, works, client.InNamespace(names.GenerateExecutionSpaceName(karmada.Name))); err != nil {
		return r.failed(control, err, "list Works")
	}
	for i := range works.Items {
		work := &works.Items[i]
		suspended := work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching
		if work.DeletionTimestamp.IsZero() || suspended && !again {
			continue
		}
		// It changes nothing for what is being removed, and is a change that Karmada hears of.
		reminded := work.DeepCopy()
		reminded.Spec.SuspendDispatching = new(!suspended)
		patch := client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{})
		err := control.Patch(ctx, reminded, patch, client.FieldOwner(Name))
		if apierrors.IsConflict(err) {
			continue // Karmada is at it this very moment.
		}
		if client.IgnoreNotFound(err) != nil {
			return r.failed(control, err, "change Work %q", work.Name)
		}
	}
	return nil
}
