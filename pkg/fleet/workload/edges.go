package workload

import (
	"context"
	"errors"
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
	if w.kind.Custom() && !w.ofAnyKind {
		return nil, errNoState
	}
	facts, err := s.facts(ctx, w)
	if err != nil {
		return nil, err
	}
	status := Evaluate(*facts)
	return &status, nil
}

// errNoState is a mistake of ours: custom workloads are read from the projection with their states.
var errNoState = errors.New("a custom workload was read without its state")

// facts gathers what the state is computed from, as far as the caller may see it.
func (s *Service) facts(ctx context.Context, w *Workload) (*Facts, error) {
	if w.ofAnyKind && w.Indexed.MetadataOnly() {
		return nil, errNoTemplate
	}
	template, err := decodeObject(w.Indexed)
	if err != nil {
		return nil, err
	}
	return Gather(w.kind, template, &indexed{s, ctx, w, w.settingNow()})
}

// optional reads so much of an object that may be missing; nil when it is.
func (s *Service) optional(ctx context.Context, key index.Key, detail index.Detail) (*index.Object, error) {
	return index.Find(ctx, s.lister.Reader, key, detail)
}

// Policy returns so much of the policy that claimed the workload; nil when none did.
func (s *Service) Policy(ctx context.Context, w *Workload, detail index.Detail) (policy.PropagationPolicyLike, error) {
	return s.templates.Policy(ctx, &w.Object, detail)
}

// Binding returns Karmada's record of where the workload goes: the one that its state was computed
// from, where it is watched. Nil when there is none.
func (s *Service) Binding(ctx context.Context, w *Workload) (*binding.Binding, error) {
	if w.observed == nil {
		return s.templates.Binding(ctx, &w.Object)
	}
	if w.observed.Binding == nil {
		return nil, nil //nolint:nilnil // It is not propagated.
	}
	return binding.New(w.Instance, w.observed.Binding, w.Fresh)
}

// OverridePolicies returns so much of the override policies that were applied in at least one cluster.
func (s *Service) OverridePolicies(ctx context.Context, w *Workload, detail index.Detail) ([]policy.OverridePolicyLike, error) {
	status, err := s.Status(ctx, w)
	if err != nil {
		return nil, err
	}
	clusters := make([]string, len(status.Placements))
	for i := range status.Placements {
		clusters[i] = status.Placements[i].Cluster
	}
	return s.templates.OverridePolicies(ctx, &w.Object, clusters, detail)
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

// Overrides returns what was overridden for a placement.
func (s *Service) Overrides(ctx context.Context, p *Placement) ([]Override, error) {
	return s.templates.Overrides(ctx, &p.workload.Object, p.Cluster)
}

// OverridePolicy returns so much of the policy of an override; nil when it was deleted since.
func (s *Service) OverridePolicy(ctx context.Context, o *Override, detail index.Detail) (policy.OverridePolicyLike, error) {
	return s.templates.OverridePolicy(ctx, o, detail)
}

// Object returns so much of the object that runs in the placement's cluster; nil
// when the cluster is not in the inventory or has none, or when the kind is not collected of it.
func (s *Service) Object(ctx context.Context, p *Placement, detail index.Detail) (*MemberObject, error) {
	w := p.workload
	fresh, held := s.collected(ctx, w.settingNow())[p.Cluster]
	if !held {
		return nil, nil //nolint:nilnil // Nothing is collected from a foreign member.
	}
	key := memberObjectKey(w.Indexed, p.Cluster)
	if known, err := s.collects(ctx, key); err != nil || !known {
		return nil, apierror.In(err, w.Instance)
	}
	o, err := s.optional(ctx, key, detail)
	if err != nil || o == nil {
		return nil, apierror.In(err, w.Instance)
	}
	status, err := s.Status(ctx, w)
	if err != nil {
		return nil, err
	}
	if !belongsTo(&o.Meta, status.BindingID) {
		return nil, nil //nolint:nilnil // Another owner's object of the same name is in the way.
	}
	return newMemberObject(w.Instance, o, fresh), nil
}

// Pods returns so much of the first pods of an object in a member, by name.
func (s *Service) Pods(ctx context.Context, m *MemberObject, first int, detail index.Detail) ([]pod.Pod, error) {
	objects, err := s.lister.Reader.PodsOf(ctx, podOwner(m.Indexed, detail))
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
