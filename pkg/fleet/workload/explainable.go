package workload

import (
	"context"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/index"
)

// Explainable is what an explanation of a workload is computed from. The caller may see all of it
// but for the override policies and member clusters of the Facts, which the state is computed from.
type Explainable struct {
	Facts  *Facts
	Status *Status
	// Policies are the propagation policies of the workload's namespace and those without one.
	Policies []policy.PropagationPolicyLike
	// OverridePolicies are the same of the override policies.
	OverridePolicies []policy.OverridePolicyLike
	// Works carry the workload to member clusters, by cluster. Their manifests may be missing.
	Works map[string]*workv1alpha1.Work
	// Pods of the placements that are not healthy, by cluster and then by name.
	Pods map[string][]pod.Pod
	// SeesMembers reports whether the caller may list the member clusters of the instance.
	SeesMembers bool
}

// Explainable reads what an explanation is computed from.
func (s *Service) Explainable(ctx context.Context, w *Workload, seesMembers bool) (*Explainable, error) {
	status, err := s.Status(ctx, w)
	if err != nil {
		return nil, err
	}
	x := &Explainable{Status: status, SeesMembers: seesMembers}
	for _, read := range []func(context.Context, *Workload, *Explainable) error{s.explainFacts, s.explainPolicies, s.explainWorks, s.explainPods} {
		if err := read(ctx, w, x); err != nil {
			return nil, apierror.In(err, w.Instance)
		}
	}
	return x, nil
}

func (s *Service) explainFacts(ctx context.Context, w *Workload, x *Explainable) (err error) {
	x.Facts, err = s.facts(ctx, w)
	return err
}

// policyParts are where the policies of a workload are: in its namespace, and in none.
func policyParts(row *index.Object) []index.Part {
	if row.Meta.Namespace == "" {
		return []index.Part{{Cluster: row.Cluster}}
	}
	return []index.Part{{Cluster: row.Cluster, Value: row.Meta.Namespace}, {Cluster: row.Cluster}}
}

func (s *Service) explainPolicies(ctx context.Context, w *Workload, x *Explainable) error {
	for _, part := range policyParts(w.Indexed) {
		propagation, err := allOf(ctx, s.lister.Reader, part, propagationPoliciesOf)
		if err != nil {
			return err
		}
		for _, o := range propagation {
			p, err := policy.NewPropagation(w.Instance, o, w.Fresh)
			if err != nil {
				return err
			}
			x.Policies = append(x.Policies, p)
		}
		override, err := allOf(ctx, s.lister.Reader, part, overridePoliciesOf)
		if err != nil {
			return err
		}
		for _, o := range override {
			p, err := policy.NewOverride(w.Instance, o, w.Fresh)
			if err != nil {
				return err
			}
			x.OverridePolicies = append(x.OverridePolicies, p)
		}
	}
	return nil
}

func (s *Service) explainWorks(ctx context.Context, w *Workload, x *Explainable) (err error) {
	x.Works, err = forEachCluster(clustersOf(x.Facts.Binding), func(cluster string) (*workv1alpha1.Work, error) {
		o, err := s.optional(ctx, workKey(w.Indexed, cluster), index.Whole)
		if err != nil || o == nil {
			return nil, err
		}
		return index.Decode[workv1alpha1.Work](o)
	})
	return err
}

func (s *Service) explainPods(ctx context.Context, w *Workload, x *Explainable) error {
	var unwell []string
	for i := range x.Status.Placements {
		p := &x.Status.Placements[i]
		if object := x.Facts.Objects[p.Cluster]; p.Scheduled && p.Health != HealthHealthy && object != nil && object.BelongsTo(x.Status.BindingID) {
			unwell = append(unwell, p.Cluster)
		}
	}
	collected := s.collected(ctx, w.settingNow())
	found, err := forEachCluster(unwell, func(cluster string) (*[]pod.Pod, error) {
		o, err := s.optional(ctx, memberObjectKey(w.Indexed, cluster), index.Known)
		if err != nil || o == nil {
			return nil, err
		}
		objects, err := s.lister.Reader.PodsOf(ctx, podOwner(o, index.Whole))
		if err != nil {
			return nil, err
		}
		pods := make([]pod.Pod, len(objects))
		for i, one := range objects {
			p, err := pod.New(w.Instance, one, collected[cluster])
			if err != nil {
				return nil, err
			}
			pods[i] = *p
		}
		return &pods, nil
	})
	x.Pods = make(map[string][]pod.Pod, len(found))
	for cluster, pods := range found {
		x.Pods[cluster] = *pods
	}
	return err
}
