package follow

import (
	"context"
	"reflect"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
// instance: their bindings, the overrides that are recorded on their Works, and its
// member clusters.
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
				// One in another namespace is not Karmada's: it would let who may write there
				// speak for this workload.
				if err != nil || b.Namespace != b.Spec.Resource.Namespace || b.Spec.Resource.Kind != t.Kind || b.Name != kind.BindingName(b.Spec.Resource.Name) {
					return nil
				}
				return []live.Key{{Namespace: b.Spec.Resource.Namespace, Name: b.Spec.Resource.Name}}
			}},
			{Source: source(index.MemberClusters), Keys: func(*live.Object) []live.Key { return []live.Key{live.Every} }},
			{Source: works, Keys: func(o *live.Object) []live.Key { return keysOfWork(kind, &o.Meta) }},
		},
		Combine: func(primary *live.Object, with [][]*live.Object) any {
			return combine(kind, primary, with[0], with[1], with[2])
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

// combine tells the state of a workload from what its instance says. What it cannot
// read it tells as an error, which is a value like others.
func combine(kind workload.Kind, template *live.Object, bindings, members, works []*live.Object) *workload.Observed {
	o := &workload.Observed{}
	facts := workload.Facts{Kind: kind, Members: make(map[string]workload.Member, len(members))}
	if o.Template, o.Err = indexed(template); o.Err != nil {
		return o
	}
	if facts.Template, o.Err = index.Decode[workload.Object](o.Template); o.Err != nil {
		return o
	}
	if len(bindings) > 0 {
		if o.Binding, o.Err = indexed(bindings[0]); o.Err != nil {
			return o
		}
		if facts.Binding, o.Err = index.Decode[workv1alpha2.ResourceBinding](o.Binding); o.Err != nil {
			return o
		}
	}
	for _, m := range members {
		c, err := decoded[clusterv1alpha1.Cluster](m)
		if err != nil {
			o.Err = err
			return o
		}
		facts.Members[c.Name] = workload.MemberOf(c)
	}
	for _, w := range works {
		facts.Record(w.Meta.Namespace, w.Meta.Annotations)
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

// same tells that two states show the same: of objects that did not change, nothing
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
