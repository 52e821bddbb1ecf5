package workload

import (
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// PolicyReference names a PropagationPolicy or, without namespace, a ClusterPropagationPolicy.
type PolicyReference struct {
	Namespace *string
	Name      string
}

// Filter says which workloads to list.
type Filter struct {
	Instances     []string
	Kinds         []Kind
	CustomKinds   []string
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
	Cluster       []string
	Policy        *PolicyReference
	Health        []Health
	Drifted       *bool
	Images        []string
	Text          *string
}

// ListArgs are the arguments of a list of workloads.
type ListArgs struct {
	page.Args
	Filter *Filter
	Order  *Order
}

// Needs says what will be asked of the workloads of a list, so that it is read
// in as few requests as possible and no more than is needed.
type Needs struct {
	// Count: the number of workloads on all pages.
	Count bool
	// Facets: what the workloads on all pages are counted by.
	Facets listing.Facets
	// Template is how much of the templates is shown. What their state is computed
	// from is read besides.
	Template index.Detail
	// Brief: of the templates no more is shown than names, UIDs, versions, labels and times of creation.
	Brief bool
	// Policy: the policy that claimed it, and how much of that.
	Policy       bool
	PolicyDetail index.Detail
	// Binding: Karmada's record of where it goes.
	Binding bool
	// Status: replicas, health or placements, which are computed together.
	Status bool
	// MemberClusters: the member clusters of the placements.
	MemberClusters bool
	// Overrides that were applied, their policies, and how much of these.
	Overrides        bool
	OverridePolicies bool
	OverrideDetail   index.Detail
	// Objects in the members, and how much of them.
	Objects      bool
	ObjectDetail index.Detail
	// Pods of the objects in the members, and how much of them. They need Objects.
	Pods      bool
	PodDetail index.Detail
	// Explanation: where the propagation stands, which needs Status.
	Explanation bool
	// Drift: where the objects in the members differ from what Karmada sent. It needs Objects, whole.
	Drift bool
	// Events: the pages of the events about each workload.
	Events []event.Wanted
}

// Explained are the needs with those of an explanation.
func (n Needs) Explained() Needs {
	n.Explanation, n.Status, n.Policy, n.Binding, n.Objects = true, true, true, true, true
	n.PolicyDetail, n.ObjectDetail, n.PodDetail = index.Whole, min(n.ObjectDetail, index.Known), index.Whole
	return n
}

// and are the needs of both.
func (n Needs) and(o Needs) Needs {
	return Needs{
		Count:            n.Count || o.Count,
		Facets:           n.Facets.And(o.Facets),
		Template:         min(n.Template, o.Template),
		Brief:            n.Brief && o.Brief,
		Policy:           n.Policy || o.Policy,
		PolicyDetail:     min(n.PolicyDetail, o.PolicyDetail),
		Binding:          n.Binding || o.Binding,
		Status:           n.Status || o.Status,
		MemberClusters:   n.MemberClusters || o.MemberClusters,
		Overrides:        n.Overrides || o.Overrides,
		OverridePolicies: n.OverridePolicies || o.OverridePolicies,
		OverrideDetail:   min(n.OverrideDetail, o.OverrideDetail),
		Objects:          n.Objects || o.Objects,
		ObjectDetail:     min(n.ObjectDetail, o.ObjectDetail),
		Pods:             n.Pods || o.Pods,
		PodDetail:        min(n.PodDetail, o.PodDetail),
		Explanation:      n.Explanation || o.Explanation,
		Drift:            n.Drift || o.Drift,
		Events:           slices.Concat(n.Events, o.Events),
	}
}

// template is how much to read of the templates: their state needs what they ask for.
func (n Needs) template() index.Detail {
	if n.Status {
		return min(n.Template, index.Known)
	}
	return n.Template
}

// request makes the list of a filter. Its errors name the argument.
func (a ListArgs) request(noun string, instances []string, needs Needs) (listing.Request, error) {
	f := a.Filter
	if f == nil {
		f = &Filter{}
	}
	custom, err := f.custom()
	if err != nil {
		return listing.Request{}, err
	}
	r := listing.Request{
		Noun:      noun,
		Types:     f.types(),
		Custom:    custom,
		Instances: instances,
		Args:      a.Args,
		Filter:    listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     a.Order.index(),
		WithCount: needs.Count,
		Detail:    needs.template(),
		Brief:     needs.Brief,
	}
	if f.Kinds != nil || f.CustomKinds != nil {
		r.SelectIdentity = custom
	}
	words, err := listing.Words(f.Text)
	if err != nil {
		return r, err
	}
	r.Projected = a.projected(words)
	if p := f.Policy; p != nil {
		if p.Name == "" {
			return r, apierror.Invalid("filter.policy.name", "Give the name of a policy")
		}
		r.Fields = policyFields(p)
	}
	return r, nil
}

// types are the types of the kinds of the filter that are not custom.
func (f *Filter) types() []index.Type {
	if f.Kinds == nil && f.CustomKinds != nil {
		return nil
	}
	return TypesOf(f.Kinds)
}

// custom are the custom workloads that a list with the filter has; nil for none.
func (f *Filter) custom() (*index.Custom, error) {
	if f.Drifted != nil {
		if f.CustomKinds != nil || slices.Contains(f.Kinds, KindCustom) {
			return nil, apierror.Invalid("filter.drifted", "The drift of custom workloads is computed for each when it is read, and cannot be filtered by: leave out drifted, and read placements.drift")
		}
		return nil, nil //nolint:nilnil // The list has the others.
	}
	switch {
	case f.CustomKinds != nil: // CUSTOM stands for them.
	case f.Kinds == nil || slices.Contains(f.Kinds, KindCustom):
		return &index.Custom{}, nil
	default:
		return nil, nil //nolint:nilnil // Other kinds are asked for.
	}
	custom := &index.Custom{Kinds: []string{}}
	for _, name := range f.CustomKinds {
		kind, err := customKindIn("filter.customKinds", name)
		if err != nil {
			return nil, err
		}
		custom.Kinds = append(custom.Kinds, string(kind))
	}
	return custom, nil
}

// customKindIn reads the name of a custom kind in an argument.
func customKindIn(argument, name string) (Kind, error) {
	kind, ok := ParseCustomKind(name)
	if !ok {
		return "", apierror.Invalid(argument, "%q is not a kind of custom workloads: give the kind and its group, for example \"Rollout.argoproj.io\"; kinds that are built into Kubernetes, or belong to Karmada, are none", name)
	}
	return kind, nil
}

// OneKind is the kind that an argument kind names, with one customKind beside it for CUSTOM.
func OneKind(kind Kind, custom *string) (Kind, error) {
	switch {
	case kind != KindCustom && custom != nil:
		return "", apierror.Invalid("customKind", "This is for the kind CUSTOM, and the kind is %s: leave one of them out", kind)
	case kind != KindCustom:
		return kind, nil
	case custom == nil:
		return "", apierror.Invalid("customKind", "CUSTOM stands for many kinds: say which, for example \"Rollout.argoproj.io\"")
	}
	return customKindIn("customKind", *custom)
}

// projected is what only the projection can select by; nil for nothing.
func (a ListArgs) projected(words []string) *index.Projected {
	f := a.Filter
	if f == nil {
		f = &Filter{}
	}
	if f.Health == nil && f.Cluster == nil && f.Drifted == nil && f.Images == nil && f.Text == nil && !a.Order.projected() {
		return nil
	}
	p := &index.Projected{ScheduledTo: f.Cluster, Drifted: f.Drifted, Images: f.Images, Words: words}
	if f.Health != nil {
		p.Health = []string{}
	}
	for _, h := range f.Health {
		p.Health = append(p.Health, string(h))
	}
	return p
}

// policyFields finds the claim that Karmada writes on a template.
func policyFields(p *PolicyReference) []index.FieldEquals {
	annotation := func(key, value string) index.FieldEquals {
		return index.FieldEquals{Path: []string{"metadata", "annotations", key}, Value: value}
	}
	if p.Namespace == nil {
		return []index.FieldEquals{annotation(policyv1alpha1.ClusterPropagationPolicyAnnotation, p.Name)}
	}
	return []index.FieldEquals{
		annotation(policyv1alpha1.PropagationPolicyNamespaceAnnotation, *p.Namespace),
		annotation(policyv1alpha1.PropagationPolicyNameAnnotation, p.Name),
	}
}

// claimOf is what a template that the policy claimed has: the policy's permanent
// ID, which Karmada writes on both.
func claimOf(p *index.Object) *index.FieldEquals {
	label := policyv1alpha1.PropagationPolicyPermanentIDLabel
	if p.Meta.Namespace == "" {
		label = policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel
	}
	return &index.FieldEquals{Path: []string{"metadata", "labels", label}, Value: p.Meta.Labels[label]}
}

// within narrows a list's instances to those of the filter.
func (f *Filter) within(instances []string) []string {
	if f == nil || f.Instances == nil {
		return instances
	}
	return slices.DeleteFunc(slices.Clone(instances), func(name string) bool { return !slices.Contains(f.Instances, name) })
}
