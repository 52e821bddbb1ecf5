package subscription

import (
	"cmp"
	"context"
	"reflect"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

// WorkloadsChanged follows workloads with their state over all clusters.
func (s *Service) WorkloadsChanged(ctx context.Context, f *workload.Filter, after *string, selection changes.Selection, needs workload.Needs) (<-chan *workload.Change, error) {
	matches, err := f.Matcher()
	if err != nil {
		return nil, err
	}
	c, err := s.confine(scope{
		instances: f.Of(), types: f.Types(), filter: f.Listing(), join: WorkloadJoin,
		match: func(o *live.Object) bool {
			w, ok := o.Joined.(*workload.Observed)
			return ok && matches(w)
		},
	})
	if err != nil {
		return nil, err
	}
	show := func(o *live.Object) (workload.Any, error) {
		w, ok := o.Joined.(*workload.Observed)
		if !ok {
			return nil, index.Key{Type: c.typeOf(o.Source), Namespace: o.Meta.Namespace, Name: o.Meta.Name}.NotFound()
		}
		if w.Err != nil {
			return nil, w.Err
		}
		return workload.NewObserved(o.Source.Instance, w, s.fresh()), nil
	}
	return begin(ctx, s, &changes.Feed[workload.Any]{
		Selection: selection, Fields: workload.Fields(), Bare: show, Show: show, Whole: always,
		KindOf:    func(source live.Source) string { return c.typeOf(source).Kind },
		Prefetch:  func(ctx context.Context, all []workload.Any) { s.Workloads.PrefetchObserved(ctx, all, needs) },
		Interests: c.interests,
	}, after, "workloadChanged", f)
}

// WorkloadJoin joins the workloads of a kind with what their state depends on in the
// instance: their bindings, the overrides that are recorded on their Works, the policies
// that select them by name, its member clusters, and the override policies that may
// select them.
func WorkloadJoin(instance string, t index.Type) *live.Join {
	kind, _ := workload.KindFromGVR(t.GroupVersionResource())
	source := func(t index.Type) live.Source {
		return live.Source{Instance: instance, Resource: t.GroupVersionResource()}
	}
	works := source(index.Works)
	works.MetadataOnly = true
	return &live.Join{
		ID: "workload/" + t.Kind,
		With: []live.Secondary{
			{Source: source(index.ResourceBindings), Keys: func(o *live.Object) []live.Key {
				b, err := decoded[workv1alpha2.ResourceBinding](o)
				// A binding in another namespace is not Karmada's: users who may write there could
				// otherwise change this workload's state.
				if err != nil || b.Namespace != b.Spec.Resource.Namespace || b.Spec.Resource.Kind != t.Kind || b.Name != kind.BindingName(b.Spec.Resource.Name) {
					return nil
				}
				return []live.Key{{Namespace: b.Spec.Resource.Namespace, Name: b.Spec.Resource.Name}}
			}},
			{Source: source(index.MemberClusters), Keys: func(*live.Object) []live.Key { return []live.Key{live.Every} }},
			{Source: source(index.PropagationPolicies), Keys: func(o *live.Object) []live.Key { return selectedBy(t, o) }},
			{Source: source(index.ClusterPropagationPolicies), Keys: func(o *live.Object) []live.Key { return selectedBy(t, o) }},
			{Source: works, Keys: func(o *live.Object) []live.Key { return keysOfWork(kind, &o.Meta) }},
			{Source: source(index.OverridePolicies), Keys: func(o *live.Object) []live.Key { return overriddenBy(t, o) }},
			{Source: source(index.ClusterOverridePolicies), Keys: func(o *live.Object) []live.Key { return overriddenBy(t, o) }},
		},
		Combine: func(primary *live.Object, with [][]*live.Object) any {
			return combine(kind, primary, evidence{
				bindings: with[0], members: with[1], policies: append(with[2], with[3]...), works: with[4], overrides: append(with[5], with[6]...),
			})
		},
		Equal: same,
	}
}

// keysOfWork names the workload of a kind that a Work was made for.
func keysOfWork(kind workload.Kind, work *metav1.ObjectMeta) []live.Key {
	namespace, name, ok := workload.OfWork(kind, work.Annotations)
	if _, sent := workload.ClusterOfExecutionNamespace(work.Namespace); !ok || !sent {
		return nil
	}
	return []live.Key{{Namespace: namespace, Name: name}}
}

// selectedBy names the workloads of a type that a policy selects by name. Which ones a
// policy without names concerns, only the workloads say: of these, a change of the
// policy is known once the binding has it.
func selectedBy(t index.Type, o *live.Object) []live.Key {
	p, err := decoded[policyv1alpha1.PropagationPolicy](o) // Both kinds have the same spec.
	if err != nil {
		return nil
	}
	var keys []live.Key
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		namespace := cmp.Or(s.Namespace, p.Namespace)
		if s.Kind == t.Kind && s.Name != "" && namespace != "" {
			keys = append(keys, live.Key{Namespace: namespace, Name: s.Name})
		}
	}
	return keys
}

// overriddenBy names the workloads of a type that an override policy may select: by name,
// else all of its namespace or, without one, of the instance. Which of these it selects,
// their states say.
func overriddenBy(t index.Type, o *live.Object) []live.Key {
	p, err := decoded[policyv1alpha1.OverridePolicy](o) // Both kinds have the same spec.
	if err != nil {
		return nil
	}
	if len(p.Spec.ResourceSelectors) == 0 {
		return []live.Key{live.EveryIn(p.Namespace)}
	}
	var keys []live.Key
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		if s.Kind != t.Kind {
			continue
		}
		key := live.EveryIn(cmp.Or(p.Namespace, s.Namespace))
		if s.Name != "" && key.Namespace != "" {
			key.Name = s.Name
		}
		keys = append(keys, key)
	}
	return keys
}

// evidence is what the state of one workload is computed from, besides its template.
type evidence struct{ bindings, members, policies, works, overrides []*live.Object }

// policyOf is the policy that claimed a template; nil where it is not known.
func (e evidence) policyOf(template *workload.Object) *policyv1alpha1.PropagationPolicy {
	ref := workload.PolicyRefOf(template)
	if ref == nil {
		return nil
	}
	for _, o := range e.policies {
		if o.Meta.Namespace != ref.Namespace || o.Meta.Name != ref.Name {
			continue
		}
		if p, err := decoded[policyv1alpha1.PropagationPolicy](o); err == nil {
			return p
		}
	}
	return nil
}

// combine computes the state of a workload from objects of its instance. It returns a failure to
// decode one as Observed.Err, which is compared like other values.
func combine(kind workload.Kind, template *live.Object, e evidence) *workload.Observed {
	o := &workload.Observed{}
	facts := workload.Facts{Kind: kind, Members: make(map[string]workload.Member, len(e.members)), Overrides: map[string][]workload.AppliedOverride{}, OverridePolicies: []*policyv1alpha1.OverridePolicy{}}
	if o.Template, o.Err = indexed(template); o.Err != nil {
		return o
	}
	if facts.Template, o.Err = index.Decode[workload.Object](o.Template); o.Err != nil {
		return o
	}
	if len(e.bindings) > 0 {
		if o.Binding, o.Err = indexed(e.bindings[0]); o.Err != nil {
			return o
		}
		if facts.Binding, o.Err = index.Decode[workv1alpha2.ResourceBinding](o.Binding); o.Err != nil {
			return o
		}
	}
	facts.Policy = e.policyOf(facts.Template)
	for _, m := range e.members {
		c, err := decoded[clusterv1alpha1.Cluster](m)
		if err != nil {
			o.Err = err
			return o
		}
		facts.Members[c.Name] = workload.MemberOf(c)
	}
	for _, w := range e.works {
		workload.Record(facts.Overrides, w.Meta.Namespace, w.Meta.Annotations)
	}
	for _, p := range e.overrides {
		policy, err := decoded[policyv1alpha1.OverridePolicy](p)
		if err != nil {
			o.Err = err
			return o
		}
		facts.OverridePolicies = append(facts.OverridePolicies, policy)
	}
	status := workload.Evaluate(facts)
	o.Status = &status
	return o
}

// decoded is an object as T. It is decoded once for whatever shows it, too.
func decoded[T any](o *live.Object) (*T, error) {
	i, err := indexed(o)
	if err != nil {
		return nil, err
	}
	return index.Decode[T](i)
}

// same reports whether two states show the same: of objects that did not change, nothing
// else can have.
func same(a, b any) bool {
	x, y := a.(*workload.Observed), b.(*workload.Observed)
	return version(x.Template) == version(y.Template) && version(x.Binding) == version(y.Binding) &&
		reflect.DeepEqual(x.Status, y.Status) && (x.Err == nil) == (y.Err == nil)
}

func version(o *index.Object) string {
	if o == nil {
		return ""
	}
	return string(o.Meta.UID) + "/" + o.Meta.ResourceVersion
}
