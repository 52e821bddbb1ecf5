package workloadmoves

import (
	"context"
	"encoding/json"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// status computes the state of the workload that a policy sends, as the API does, from what the instance has of it; nil
// while the policy does not send it.
func (s *scope) status(ctx context.Context, w workload.Named, p *policyv1alpha1.PropagationPolicy) (*workload.Status, error) {
	raw := &unstructured.Unstructured{}
	raw.SetGroupVersionKind(w.Kind.GVK())
	if err := s.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, raw); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	text, err := raw.MarshalJSON()
	if err != nil {
		return nil, err
	}
	template := &workload.Object{}
	if err := json.Unmarshal(text, template); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", w.Kind, w.Namespace, w.Name, err)
	}
	if ref := workload.PolicyRefOf(template); ref == nil || ref.Namespace != p.Namespace || ref.Name != p.Name {
		return nil, nil //nolint:nilnil // Another policy sends it, or none.
	}
	facts, err := workload.Gather(w.Kind, template, &live{scope: s, ctx: ctx, w: w, policy: p})
	if err != nil {
		return nil, fmt.Errorf("read the state of %s %s/%s: %w", w.Kind, w.Namespace, w.Name, err)
	}
	status := workload.Evaluate(*facts)
	return &status, nil
}

// live is the Source of a workload that its instance is asked for.
type live struct {
	*scope
	ctx    context.Context //nolint:containedctx // It lives as long as the one call that makes it.
	w      workload.Named
	policy *policyv1alpha1.PropagationPolicy
}

// Binding implements workload.Source.
func (l *live) Binding() (*workv1alpha2.ResourceBinding, error) {
	b := &workv1alpha2.ResourceBinding{}
	if err := l.Get(l.ctx, client.ObjectKey{Namespace: l.w.Namespace, Name: l.w.Kind.BindingName(l.w.Name)}, b); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return b, nil
}

// Policy implements workload.Source.
func (l *live) Policy(*workload.PolicyRef) (*policyv1alpha1.PropagationPolicy, error) {
	return l.policy, nil
}

// Members implements workload.Source.
func (l *live) Members() (map[string]workload.Member, error) {
	members := make(map[string]workload.Member, len(l.members))
	for _, c := range l.members {
		members[c.Name] = workload.MemberOf(c)
	}
	return members, nil
}

// OverridePolicies implements workload.Source.
func (l *live) OverridePolicies() ([]*policyv1alpha1.OverridePolicy, error) {
	narrow, wide := &policyv1alpha1.OverridePolicyList{}, &policyv1alpha1.ClusterOverridePolicyList{}
	if err := l.List(l.ctx, narrow, client.InNamespace(l.w.Namespace)); err != nil {
		return nil, err
	}
	if err := l.List(l.ctx, wide); err != nil {
		return nil, err
	}
	all := make([]*policyv1alpha1.OverridePolicy, 0, len(narrow.Items)+len(wide.Items))
	for i := range narrow.Items {
		all = append(all, &narrow.Items[i])
	}
	for i := range wide.Items {
		all = append(all, &policyv1alpha1.OverridePolicy{ObjectMeta: wide.Items[i].ObjectMeta, Spec: wide.Items[i].Spec})
	}
	return all, nil
}

// Works implements workload.Source.
func (l *live) Works(clusters []string) (map[string]*metav1.ObjectMeta, error) {
	all := make(map[string]*metav1.ObjectMeta, len(clusters))
	for _, cluster := range clusters {
		work := &metav1.PartialObjectMetadata{}
		work.SetGroupVersionKind(schema.GroupVersion(workv1alpha1.GroupVersion).WithKind(workv1alpha1.ResourceKindWork))
		key := client.ObjectKey{Namespace: workload.ExecutionNamespace(cluster), Name: l.w.Kind.WorkName(l.w.Namespace, l.w.Name)}
		if err := l.Get(l.ctx, key, work); client.IgnoreNotFound(err) != nil {
			return nil, err
		} else if err == nil {
			all[cluster] = &work.ObjectMeta
		}
	}
	return all, nil
}

// Objects implements workload.Source. Members are not asked: what Karmada has collected of them decides.
func (*live) Objects([]string) (map[string]*workload.Object, error) { return nil, nil }
