package resource

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// Placement is an object in one of the member clusters that Karmada sends it to, or takes it away from.
type Placement struct {
	// StatusItem is what the cluster reported; of a cluster that has not, only the name is known.
	binding.StatusItem
	// Scheduled reports whether the scheduler wants it there; Evicting whether it is moved away, gracefully.
	Scheduled, Evicting bool

	template *object.Object
}

// InstanceName is the instance of the object.
func (p *Placement) InstanceName() string { return p.template.Instance }

// template is the object as something that Karmada propagates, with the age of what the index has of
// it; nil for an object in a member cluster.
func (s *Service) template(ctx context.Context, r *Resource) *object.Object {
	if r.member != "" {
		return nil
	}
	return &object.Object{Instance: r.Instance, Indexed: r.Indexed, Fresh: s.lister.Freshness.Of(ctx, r.Indexed.Cluster)}
}

// Policy returns so much of the policy that claimed an object; nil when none did.
func (s *Service) Policy(ctx context.Context, r *Resource, detail index.Detail) (policy.PropagationPolicyLike, error) {
	template := s.template(ctx, r)
	if template == nil {
		return nil, nil //nolint:nilnil // No policy claims what is in a member.
	}
	return s.templates.Policy(ctx, template, detail)
}

// Binding returns Karmada's record of where an object goes; nil when it is not propagated.
func (s *Service) Binding(ctx context.Context, r *Resource) (*binding.Binding, error) {
	template := s.template(ctx, r)
	if template == nil {
		return nil, nil //nolint:nilnil // Nothing sends on what is in a member.
	}
	return s.templates.Binding(ctx, template)
}

// Placements returns where an object is sent, by cluster.
func (s *Service) Placements(ctx context.Context, r *Resource) ([]Placement, error) {
	b, err := s.Binding(ctx, r)
	if err != nil || b == nil {
		return []Placement{}, err
	}
	return placementsOf(s.template(ctx, r), b)
}

// OverridePolicies returns so much of the override policies that were applied in at least one cluster.
func (s *Service) OverridePolicies(ctx context.Context, r *Resource, detail index.Detail) ([]policy.OverridePolicyLike, error) {
	placements, err := s.Placements(ctx, r)
	if err != nil || len(placements) == 0 {
		return []policy.OverridePolicyLike{}, err
	}
	clusters := make([]string, len(placements))
	for i := range placements {
		clusters[i] = placements[i].ClusterName
	}
	return s.templates.OverridePolicies(ctx, placements[0].template, clusters, detail)
}

// Overrides returns what was overridden for a placement.
func (s *Service) Overrides(ctx context.Context, p *Placement) ([]workload.Override, error) {
	return s.templates.Overrides(ctx, p.template, p.ClusterName)
}

// PrefetchPlacements starts reading what will be asked of where some objects go.
func (s *Service) PrefetchPlacements(ctx context.Context, needs workload.TemplateNeeds, all ...*Resource) {
	var rows []*index.Object
	for _, r := range all {
		if r.member == "" {
			rows = append(rows, r.Indexed)
		}
	}
	if len(rows) > 0 {
		s.templates.Prefetch(ctx, rows, needs)
	}
}

// placementsOf are the clusters that a binding names.
func placementsOf(template *object.Object, b *binding.Binding) ([]Placement, error) {
	reported, err := b.AggregatedStatus()
	if err != nil {
		return nil, err
	}
	clusters := binding.ClustersOf(b.Karmada())
	all := make([]Placement, len(clusters))
	spec := &b.Karmada().Spec
	for i, cluster := range clusters {
		p := &all[i]
		p.ClusterName, p.template = cluster, template
		p.Scheduled = spec.TargetContains(cluster)
		p.Evicting = spec.ClusterInGracefulEvictionTasks(cluster)
		if at := slices.IndexFunc(reported, func(item binding.StatusItem) bool { return item.ClusterName == cluster }); at >= 0 {
			p.StatusItem = reported[at]
		}
	}
	return all, nil
}
