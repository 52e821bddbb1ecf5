package clusterimport

import (
	"context"
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	"github.com/kairship-io/kairship/pkg/fleet/propagated"
)

const (
	// bindingsPage is how many bindings are read at a time.
	bindingsPage = 500
	// Between two looks at whether a member is still in use lies at least the first
	// and at most the second; in between, blockedFactor times as long as a look took.
	blockedLeast, blockedMost = 2 * time.Second, time.Minute
	blockedFactor             = 20
)

// block ends a removal while workloads are propagated to the cluster. What makes
// the cluster a member is kept true meanwhile.
func (r *Reconciler) block(ctx context.Context, s *scope) error {
	if s.karmada == nil || isReserved(s.karmada) || !s.karmada.DeletionTimestamp.IsZero() || s.membership.LeavingSince != nil {
		return nil
	}
	begun := time.Now()
	workloads, err := r.workloadsOn(ctx, s)
	if err != nil || workloads.Count == 0 {
		return err
	}
	r.maintain(ctx, s)
	retry := min(max(blockedFactor*time.Since(begun), blockedLeast), blockedMost)
	return &phase.Stop{Retry: retry, Condition: v1alpha1.NotJoined(v1alpha1.ReasonBlocked, workloads.Message())}
}

// maintain keeps a member up to date whose removal is blocked. Users do not wait for that, so an
// error is only logged, and the next reconciliation tries again. It skips a member that is known
// not to answer, because the request would take long; one that was not probed yet is tried.
func (r *Reconciler) maintain(ctx context.Context, s *scope) {
	if meta.IsStatusConditionFalse(s.cluster.Status.Conditions, v1alpha1.ConditionReachable) {
		return
	}
	err := phase.Run(ctx, s, r.connectMember, r.identify, r.prepare, r.publishSecrets, r.publish)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Cannot keep a member true that is to leave", "cause", err.Error())
	}
}

// workloadsOn counts the objects that are propagated to the member, in the order of the instance.
func (r *Reconciler) workloadsOn(ctx context.Context, s *scope) (*propagated.Objects, error) {
	found := &propagated.Objects{Instance: s.membership.Instance, Cluster: s.cluster.Name}
	narrow := &workv1alpha2.ResourceBindingList{}
	for {
		if err := s.control.List(ctx, narrow, client.Limit(bindingsPage), client.Continue(narrow.Continue)); err != nil {
			return nil, r.failed(s.control, err, "list ResourceBindings")
		}
		for i := range narrow.Items {
			found.Add(&narrow.Items[i].Spec)
		}
		if narrow.Continue == "" {
			break
		}
	}
	wide := &workv1alpha2.ClusterResourceBindingList{}
	for {
		if err := s.control.List(ctx, wide, client.Limit(bindingsPage), client.Continue(wide.Continue)); err != nil {
			return nil, r.failed(s.control, err, "list ClusterResourceBindings")
		}
		for i := range wide.Items {
			found.Add(&wide.Items[i].Spec)
		}
		if wide.Continue == "" {
			return found, nil
		}
	}
}
