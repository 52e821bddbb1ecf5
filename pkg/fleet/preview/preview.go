package preview

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
)

// Service computes previews.
type Service struct {
	Writer    *write.Writer
	Policies  *policies.Writes
	Instances *instance.Service
	// Resources and Bindings are what the caller may read: the objects that a change concerns.
	Resources *resource.Service
	Bindings  *binding.Service
	// Evidence is what Karmada decides with, regardless of the caller's roles: the member clusters and the policies.
	// Of these an answer names only what the caller would see on the object after the change.
	Evidence *resource.Service
}

// Assumptions are settings of Karmada that cannot be read from an instance; nil for those of the Instance
// resource, else for Karmada's defaults.
type Assumptions struct {
	PolicyPreemption, NoExecuteEviction *bool
}

// Preview is what a change would do.
type Preview struct {
	whatif.Counts

	Instance    string
	Fingerprint string
	Assumptions []string
	Freshness   freshness.Freshness
	items       []*Item
}

// Item is what would become of one object.
type Item struct {
	whatif.Item

	Instance string
}

func newPreview(instance string, r *whatif.Report, fresh freshness.Freshness) *Preview {
	p := &Preview{Counts: r.Counts(), Instance: instance, Fingerprint: r.Fingerprint, Assumptions: r.Assumptions, Freshness: fresh}
	for i := range r.Items {
		p.items = append(p.items, &Item{Item: r.Items[i], Instance: instance})
	}
	return p
}

// Items returns the first objects with one of some effects, nil for all: those first that need attention.
func (p *Preview) Items(first *int, effects []whatif.Effect) ([]*Item, error) {
	limit, err := page.Args{First: first}.Limit()
	if err != nil {
		return nil, err
	}
	out := []*Item{}
	for _, i := range p.items {
		if len(out) < limit && (effects == nil || slices.Contains(effects, i.Effect)) {
			out = append(out, i)
		}
	}
	return out, nil
}

// All returns all objects.
func (p *Preview) All() []*Item { return p.items }

// Targets name the workloads among the first objects, as many as Items returns at most.
func (p *Preview) Targets() []workload.Named {
	var out []workload.Named
	for _, i := range p.items[:min(len(p.items), page.MaxSize)] {
		if w, is := i.Target(); is {
			out = append(out, w)
		}
	}
	return out
}

// NamespaceOrNil is the object's namespace; nil for one that has none.
func (i *Item) NamespaceOrNil() *string { return optional(i.Namespace) }

// MessageOrNil explains the effect; nil when there is nothing to explain.
func (i *Item) MessageOrNil() *string { return optional(i.Message) }

// Target names the object as a workload; false for what is none.
func (i *Item) Target() (workload.Named, bool) {
	kind, is := workload.KindFromGVK(schema.FromAPIVersionAndKind(i.APIVersion, i.Kind))
	return workload.Named{Instance: i.Instance, Kind: kind, Namespace: i.Namespace, Name: i.Name}, is
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// settings are those that a preview assumes.
func (s *Service) settings(ctx context.Context, instanceName string, a *Assumptions) (whatif.Settings, error) {
	var out whatif.Settings
	i, err := s.Instances.Get(ctx, instanceName)
	if err != nil {
		return out, err
	}
	if i != nil {
		if c := i.Spec.Components; c != nil {
			out.PolicyPreemption = c.FeatureGates["PolicyPreemption"]
			out.NoExecuteEviction = c.Failover != nil && c.Failover.Enabled
		}
	}
	if a != nil && a.PolicyPreemption != nil {
		out.PolicyPreemption = *a.PolicyPreemption
	}
	if a != nil && a.NoExecuteEviction != nil {
		out.NoExecuteEviction = *a.NoExecuteEviction
	}
	return out, nil
}

// moved is the error of a change that would not do what its preview says.
func moved(field string) error {
	return apierror.At(apierror.New(apierror.CodeConflict,
		"the change would not do any more what was previewed: ask for %s again, and repeat the change with its fingerprint", field), expectArgument)
}

const expectArgument = "input.expect"

// assumed returns the assumptions of a fingerprint.
func assumed(fingerprint string) (*Assumptions, error) {
	s, ok := whatif.SettingsOf(fingerprint)
	if !ok {
		return nil, apierror.Invalid(expectArgument, "this is not the fingerprint of a preview")
	}
	return &Assumptions{PolicyPreemption: &s.PolicyPreemption, NoExecuteEviction: &s.NoExecuteEviction}, nil
}
