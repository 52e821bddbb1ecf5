package workload

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Change is an event of a subscription to workloads.
type Change = changes.Event[Any]

// Observed is a workload as the watches on its instance show it: the state is
// computed from what they show and from nothing else, so that it changes when
// something of that does, and never between two looks.
type Observed struct {
	// Template is the workload in the instance.
	Template *index.Object
	// Binding is Karmada's record of where it goes; nil when there is none.
	Binding *index.Object
	// Status is computed from both, and from the instance's members.
	Status *Status
	// Err is set where the state is unknown, because an object that it depends on can't be read.
	Err error
}

// NewObserved makes a workload of what watches show; nil when it is none.
func NewObserved(instance string, o *Observed, fresh freshness.Freshness) Any {
	w := newWorkload(&setting{instance: instance, fresh: fresh}, o.Template)
	if w == nil {
		return nil
	}
	base := w.Base()
	base.Fresh, base.observed = fresh, o
	base.statusOnce.Do(func() { base.status = o.Status })
	return w
}

// PrefetchObserved starts reading what will be asked of observed workloads beyond
// what they carry.
func (s *Service) PrefetchObserved(ctx context.Context, all []Any, needs Needs) {
	needs.Binding = false
	p := &prefetch{service: s, ctx: ctx, needs: needs}
	rows, in := make([]*index.Object, len(all)), make([]placed, len(all))
	for i, w := range all {
		base := w.Base()
		rows[i], in[i].row = base.Indexed, base.Indexed
		if base.status != nil {
			for j := range base.status.Placements {
				in[i].place(base.status.Placements[j].Cluster, base.status.Placements[j].Health)
			}
		}
	}
	p.start(in)
	s.prefetchEvents(ctx, rows, needs)
}

// shownPlacement has the fields of a placement that its workload carries, as the API names them.
type shownPlacement struct {
	ClusterName                                    string
	Desired, Ready, Available, Updated             *int32
	Scheduled, Evicting, Suspended, Stale, Applied bool
	Health                                         Health
	Message                                        string
}

func shownPlacements(w Any) any {
	placements := w.Base().status.Placements
	shown := make([]shownPlacement, len(placements))
	for i := range placements {
		p := &placements[i]
		shown[i] = shownPlacement{
			ClusterName: p.Cluster, Desired: p.Desired, Ready: p.Ready, Available: p.Available, Updated: p.Updated,
			Scheduled: p.Scheduled, Evicting: p.Evicting, Suspended: p.Suspended, Stale: p.Stale, Applied: p.Applied,
			Health: p.Health, Message: p.Message,
		}
	}
	return shown
}

// shownBinding has the fields of a binding that can change.
type shownBinding struct {
	Clusters                        []binding.TargetCluster
	Replicas                        *int
	SchedulerName                   *string
	Conditions                      []object.Condition
	AggregatedStatus                []binding.StatusItem
	ResourceVersion, Manifest, Yaml string
}

func showBinding(w Any) (*shownBinding, error) {
	o := w.Base().observed.Binding
	if o == nil {
		return nil, nil //nolint:nilnil // A workload that no policy claimed has none.
	}
	b, err := binding.New(w.Base().Instance, o, freshness.Freshness{})
	if err != nil {
		return nil, err
	}
	status, err := b.AggregatedStatus()
	if err != nil {
		return nil, err
	}
	v := b.ResourceVersion()
	return &shownBinding{
		Clusters: b.Clusters(), Replicas: b.Replicas(), SchedulerName: b.SchedulerName(), Conditions: b.Conditions(),
		AggregatedStatus: status, ResourceVersion: v, Manifest: v, Yaml: v,
	}, nil
}

// Fields are the fields of an observed workload that it carries and that can change.
func Fields() []changes.Field[Any] {
	status := func(of func(*Status) any) func(Any) any {
		return func(w Any) any { return of(w.Base().status) }
	}
	return append(changes.ObjectFields(func(w Any) *object.Object { return &w.Base().Object }), []changes.Field[Any]{
		{Name: "images", Of: changes.Value(func(w Any) ([]string, error) { return w.Base().Images() })},
		{Name: "template", Of: changes.Value(func(w Any) (*Template, error) { return w.Base().Template() })},
		{Name: "deleting", Of: func(w Any) any { return w.Base().Deleting() }},
		{Name: "policy", Of: func(w Any) any { return policyName(w) }},
		{Name: "replicas", Of: status(func(s *Status) any { return s.Replicas })},
		{Name: "health", Of: status(func(s *Status) any { return s.Health })},
		{Name: "healthMessage", Of: status(func(s *Status) any { return s.Message })},
		{Name: "suspended", Of: status(func(s *Status) any { return s.Suspended })},
		{Name: "placements", Of: shownPlacements},
		{Name: "binding", Of: changes.Value(showBinding)},
		{Name: "schedule", Of: changes.Value(func(w Any) (string, error) {
			if c, ok := w.(*CronJob); ok {
				return c.Schedule()
			}
			return "", nil
		})},
		{Name: "completions", Of: changes.Value(func(w Any) (*int, error) {
			if j, ok := w.(*Job); ok {
				return j.Completions()
			}
			return nil, nil //nolint:nilnil // Only Jobs have one.
		})},
	}...)
}

func policyName(w Any) string {
	ref := PolicyRefOf(&w.Base().Indexed.Meta)
	if ref == nil {
		return ""
	}
	return ref.Namespace + "/" + ref.Name
}

// Listing is the part of the filter that all nouns have.
func (f *Filter) Listing() listing.Filter {
	if f == nil {
		return listing.Filter{}
	}
	return listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Of are the instances of the filter; nil for all.
func (f *Filter) Of() []string {
	if f == nil {
		return nil
	}
	return f.Instances
}

// Types are the types of the kinds of the filter that are not custom.
func (f *Filter) Types() []index.Type {
	if f == nil {
		return TypesOf(nil)
	}
	return f.types()
}

// Matcher returns a function that reports whether a list with the filter has an observed workload.
// Its errors name the argument.
func (f *Filter) Matcher() (func(*Observed) bool, error) {
	named, err := f.Listing().Matcher()
	if err != nil {
		return nil, err
	}
	if f == nil {
		f = &Filter{}
	}
	if slices.Contains(f.Kinds, KindCustom) || f.CustomKinds != nil {
		return nil, apierror.Invalid("filter.kinds", "Custom workloads are not followed here: follow the objects of their kind with resourceChanged, or their bindings, and list workloads when one changes")
	}
	if f.Drifted != nil {
		return nil, apierror.Invalid("filter.drifted", "Drift is not followed here: list workloads with this filter when an object changes")
	}
	if f.Policy != nil && f.Policy.Name == "" {
		return nil, apierror.Invalid("filter.policy.name", "Give the name of a policy")
	}
	words, err := listing.Words(f.Text)
	if err != nil {
		return nil, err
	}
	return func(o *Observed) bool {
		return o.Err == nil && named(metav1.Object(&o.Template.Meta)) && f.claimed(o) && f.placed(o) &&
			(f.Health == nil || slices.Contains(f.Health, o.Status.Health)) && f.found(o, words)
	}, nil
}

// claimed reports whether the policy of the filter claimed a workload.
func (f *Filter) claimed(o *Observed) bool {
	if f.Policy == nil {
		return true
	}
	for _, field := range policyFields(f.Policy) {
		if o.Template.Meta.Annotations[field.Path[len(field.Path)-1]] != field.Value {
			return false
		}
	}
	return true
}

// found reports whether a workload has an image of the filter and some words.
func (f *Filter) found(o *Observed, words []string) bool {
	if f.Images == nil && len(words) == 0 {
		return true
	}
	template, err := index.Decode[Object](o.Template)
	if err != nil {
		return false // The state could not be computed either.
	}
	if f.Images != nil {
		if images := template.Images(); !projection.HasImage(f.Images, images, ImageKeys(images)) {
			return false
		}
	}
	if len(words) == 0 {
		return true
	}
	text := SearchText(template)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// placed reports whether a workload is scheduled to a cluster of the filter.
func (f *Filter) placed(o *Observed) bool {
	return f.Cluster == nil || slices.ContainsFunc(o.Status.Placements, func(p PlacementStatus) bool {
		return p.Scheduled && slices.Contains(f.Cluster, p.Cluster)
	})
}
