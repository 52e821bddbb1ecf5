package workloadmoves

import (
	"context"
	"errors"
	"fmt"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/projection"
)

// scope is what the phases of one reconciliation share.
type scope struct {
	*instance
	of       *v1alpha1.Instance
	activity activity.Recorder
	now      time.Time
	// members are the member clusters.
	members []*clusterv1alpha1.Cluster
	// pending are the policies whose workload is not ready in the new clusters yet.
	pending []types.UID
}

// patch patches an object of the instance and records it, if that changed something.
func (s *scope) patch(ctx context.Context, object client.Object, patch client.Patch) error {
	before := object.GetResourceVersion()
	if err := s.Patch(ctx, object, patch); err != nil {
		return err
	}
	if object.GetResourceVersion() == before {
		return nil
	}
	if gvk, err := s.GroupVersionKindFor(object); err == nil {
		s.activity.Record(activity.InInstance(s.of, projection.ActivityPatch, gvk.Group, gvk.Kind, object))
	}
	return nil
}

// readMembers reads the member clusters.
func (s *scope) readMembers(ctx context.Context) error {
	list := &clusterv1alpha1.ClusterList{}
	if err := s.List(ctx, list); err != nil {
		return fmt.Errorf("list the member clusters: %w", err)
	}
	for i := range list.Items {
		s.members = append(s.members, &list.Items[i])
	}
	return nil
}

// finishMoves drops the clusters that workloads have left from their policies.
func (s *scope) finishMoves(ctx context.Context) error {
	narrow, wide := &policyv1alpha1.PropagationPolicyList{}, &policyv1alpha1.ClusterPropagationPolicyList{}
	for _, list := range []client.ObjectList{narrow, wide} {
		if err := s.List(ctx, list, client.MatchingLabelsSelector{Selector: labelled}); err != nil {
			return fmt.Errorf("list the policies of workloads that move: %w", err)
		}
	}
	var problems []error
	for i := range narrow.Items {
		problems = append(problems, s.finishMove(ctx, &narrow.Items[i], &narrow.Items[i]))
	}
	for i := range wide.Items {
		w := &wide.Items[i]
		problems = append(problems, s.finishMove(ctx, w, &policyv1alpha1.PropagationPolicy{ObjectMeta: w.ObjectMeta, Spec: w.Spec}))
	}
	return errors.Join(problems...)
}

// finishMove takes the second step of a move when it is due. The object is that of the policy.
func (s *scope) finishMove(ctx context.Context, object client.Object, p *policyv1alpha1.PropagationPolicy) error {
	m := moving.Of(p)
	if m == nil || moving.PhaseOf(p, m.From, m.To) != moving.Both {
		return nil // A change of the policy ended it. Another change is watched.
	}
	w, one := moving.Sent(p)
	if !one {
		return nil
	}
	status, err := s.status(ctx, w, p)
	if err != nil {
		return err
	}
	clusters, due := moving.After(p, status)
	if !due {
		s.pending = append(s.pending, p.UID)
		return nil
	}
	patch, err := moving.Patch(p, clusters, nil)
	if err != nil {
		return err
	}
	if err := s.patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("drop the clusters that %s %s/%s has left from its policy %q: %w", w.Kind, w.Namespace, w.Name, p.Name, err)
	}
	log.FromContext(ctx).Info("A workload has moved", "kind", w.Kind, "namespace", w.Namespace, "workload", w.Name, "policy", p.Name, "clusters", clusters)
	return nil
}
