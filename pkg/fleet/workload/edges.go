package workload

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/index"
)

// Status computes a workload's state. It is computed once for each workload,
// which lives as long as its operation does.
func (s *Service) Status(ctx context.Context, w *Workload) (*Status, error) {
	w.statusOnce.Do(func() {
		defer func() {
			// It may run in a goroutine of its own, where a panic would end the process.
			if p := recover(); p != nil {
				w.statusErr = fmt.Errorf("panic while computing the state of %s %s/%s: %v\n%s", w.kind, w.Namespace(), w.Name(), p, debug.Stack())
			}
		}()
		status, err := s.compute(ctx, w)
		w.status, w.statusErr = status, apierror.In(err, w.Instance)
	})
	return w.status, w.statusErr
}

// compute is the state of a workload: what the projection has of this version of the
// template, else what the facts give now.
func (s *Service) compute(ctx context.Context, w *Workload) (*Status, error) {
	if known := w.Indexed.State; known != nil {
		return statusOf(known), nil
	}
	facts, err := s.facts(ctx, w)
	if err != nil {
		return nil, err
	}
	status := Evaluate(*facts)
	return &status, nil
}

// facts gathers what the state is computed from, as far as the caller may see it.
func (s *Service) facts(ctx context.Context, w *Workload) (*Facts, error) {
	template, err := index.Decode[Object](w.Indexed)
	if err != nil {
		return nil, err
	}
	return Gather(w.kind, template, &indexed{s, ctx, w})
}

// optional reads so much of an object that may be missing; nil when it is.
func (s *Service) optional(ctx context.Context, key index.Key, detail index.Detail) (*index.Object, error) {
	o, err := s.lister.Reader.Get(ctx, key, detail)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, nil //nolint:nilnil // That is what optional means.
	}
	return o, err
}

// Policy returns so much of the policy that claimed the workload; nil when none did.
func (s *Service) Policy(ctx context.Context, w *Workload, detail index.Detail) (policy.PropagationPolicyLike, error) {
	ref := PolicyRefOf(&w.Indexed.Meta)
	if ref == nil {
		return nil, nil //nolint:nilnil // A workload without policy has null there.
	}
	o, err := s.optional(ctx, policyKey(w.Indexed.Cluster, ref), detail)
	if err != nil || o == nil {
		return nil, apierror.In(err, w.Instance)
	}
	return policy.NewPropagation(w.Instance, o, w.Fresh)
}

// Binding returns Karmada's record of where the workload goes; nil when there is none.
func (s *Service) Binding(ctx context.Context, w *Workload) (*binding.Binding, error) {
	o, err := s.bindingOf(ctx, w)
	if err != nil || o == nil {
		return nil, apierror.In(err, w.Instance)
	}
	return binding.New(w.Instance, o, w.Fresh)
}

// bindingOf is the binding of a workload: the one that its state was computed from,
// where it is watched. Nil when there is none.
func (s *Service) bindingOf(ctx context.Context, w *Workload) (*index.Object, error) {
	if w.observed != nil {
		return w.observed.Binding, nil
	}
	return s.optional(ctx, bindingKey(w.Indexed), index.Whole)
}

// OverridePolicies returns so much of the override policies that were applied in at least one cluster.
func (s *Service) OverridePolicies(ctx context.Context, w *Workload, detail index.Detail) ([]policy.OverridePolicyLike, error) {
	placements, err := s.Placements(ctx, w)
	if err != nil {
		return nil, err
	}
	found := []policy.OverridePolicyLike{}
	seen := map[index.Key]struct{}{}
	for i := range placements {
		overrides, err := s.Overrides(ctx, &placements[i])
		if err != nil {
			return nil, err
		}
		for j := range overrides {
			o := &overrides[j]
			if _, dup := seen[o.key]; dup {
				continue
			}
			seen[o.key] = struct{}{}
			like, err := s.OverridePolicy(ctx, o, detail)
			if err != nil {
				return nil, err
			}
			if like != nil {
				found = append(found, like)
			}
		}
	}
	return found, nil
}

// Placement is a workload in one member cluster.
type Placement struct {
	PlacementStatus
	workload *Workload
}

// InstanceName is the instance of the workload.
func (p *Placement) InstanceName() string { return p.workload.Instance }

// Placements returns where the workload runs.
func (s *Service) Placements(ctx context.Context, w *Workload) ([]Placement, error) {
	status, err := s.Status(ctx, w)
	if err != nil || len(status.Placements) == 0 {
		return []Placement{}, err
	}
	out := make([]Placement, len(status.Placements))
	for i, p := range status.Placements {
		out[i] = Placement{PlacementStatus: p, workload: w}
	}
	return out, nil
}

// Override is an override policy at work on one workload in one cluster.
type Override struct {
	AppliedOverride
	placement *Placement
	key       index.Key
}

// PolicyNamespace is the namespace of the policy; nil for a ClusterOverridePolicy.
func (o *Override) PolicyNamespace() *string {
	if o.ClusterScoped {
		return nil
	}
	return &o.key.Namespace
}

// Overrides returns what was overridden for a placement.
func (s *Service) Overrides(ctx context.Context, p *Placement) ([]Override, error) {
	w := p.workload
	work, err := s.lister.Reader.Get(ctx, workKey(w.Indexed, p.Cluster), index.Metadata)
	switch {
	case apierror.Is(err, apierror.CodeNotFound):
		return []Override{}, nil
	case err != nil:
		return nil, apierror.In(err, w.Instance)
	}
	applied, err := appliedOverrides(work.Meta.Annotations)
	if err != nil {
		return nil, err
	}
	out := make([]Override, len(applied))
	for i, a := range applied {
		out[i] = Override{AppliedOverride: a, placement: p, key: overrideKey(w.Indexed.Cluster, w.Namespace(), a)}
	}
	return out, nil
}

// OverridePolicy returns so much of the policy of an override; nil when it was deleted since.
func (s *Service) OverridePolicy(ctx context.Context, o *Override, detail index.Detail) (policy.OverridePolicyLike, error) {
	w := o.placement.workload
	found, err := s.optional(ctx, o.key, detail)
	if err != nil || found == nil {
		return nil, apierror.In(err, w.Instance)
	}
	return policy.NewOverride(w.Instance, found, w.Fresh)
}

// Object returns so much of the object that runs in the placement's cluster; nil
// when the cluster is not in the inventory or has none.
func (s *Service) Object(ctx context.Context, p *Placement, detail index.Detail) (*MemberObject, error) {
	w := p.workload
	in := w.setting
	if w.observed != nil {
		in = &setting{instance: w.Instance} // It lasts, and is shown to several users.
	}
	fresh, held := s.collected(ctx, in)[p.Cluster]
	if !held {
		return nil, nil //nolint:nilnil // Nothing is collected from a foreign member.
	}
	o, err := s.optional(ctx, memberObjectKey(w.Indexed, p.Cluster), detail)
	if err != nil || o == nil {
		return nil, apierror.In(err, w.Instance)
	}
	decoded, err := index.Decode[Object](o)
	if err != nil {
		return nil, err
	}
	status, err := s.Status(ctx, w)
	if err != nil {
		return nil, err
	}
	if !decoded.belongsTo(status.BindingID) {
		return nil, nil //nolint:nilnil // Another owner's object of the same name is in the way.
	}
	return newMemberObject(w.Instance, o, fresh), nil
}

// Pods returns the first pods of an object in a member, by name.
func (s *Service) Pods(ctx context.Context, m *MemberObject, first int) ([]pod.Pod, error) {
	objects, err := s.lister.Reader.PodsOf(ctx, podOwner(m.Indexed))
	if err != nil {
		return nil, apierror.In(err, m.Instance)
	}
	if len(objects) > first {
		objects = objects[:first]
	}
	pods := make([]pod.Pod, len(objects))
	for i, o := range objects {
		one, err := pod.New(m.Instance, o, m.Fresh)
		if err != nil {
			return nil, err
		}
		pods[i] = *one
	}
	return pods, nil
}

// MessageOrNil is what went wrong; nil when nothing did.
func (p *Placement) MessageOrNil() *string { return object.Optional(p.Message) }
