package projector

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// loader reads, for many workloads at once, what their states are computed from. It runs
// workload.Gather on what it has, notes what Gather asks for and is not there, reads all
// of that together, and runs Gather again until nothing is missing.
type loader struct {
	snapshot *projection.Snapshot
	joined   map[string]projection.Collection
	// members are those of each instance, as the rows of the projection have them.
	members map[string]map[string]workload.Member
	// objects are the decoded objects; nil for one that the index does not have.
	objects map[projection.ResourceKey]*decoded
	missing map[projection.Piece]map[projection.ResourceKey]bool
}

// decoded is an object, or why it cannot be read.
type decoded struct {
	value any
	err   error
}

func newLoader(s *projection.Snapshot) (*loader, error) {
	collections, err := s.Collections()
	if err != nil {
		return nil, err
	}
	l := &loader{
		snapshot: s, joined: make(map[string]projection.Collection, len(collections)), members: map[string]map[string]workload.Member{},
		objects: map[projection.ResourceKey]*decoded{}, missing: map[projection.Piece]map[projection.ResourceKey]bool{projection.Whole: {}, projection.Metadata: {}},
	}
	for _, c := range collections {
		l.joined[c.Cluster] = c
	}
	return l, nil
}

// evaluate computes the rows of some workloads, and finds those that the index does not have.
func (l *loader) evaluate(keys []projection.WorkloadKey) (rows []projection.Workload, gone []projection.WorkloadKey, err error) {
	for _, key := range keys {
		// The first two are needed in any case.
		s := &source{loader: l, key: key}
		_, _ = s.template()
		_, _ = s.Binding()
	}
	waiting := keys
	for {
		if err := l.load(); err != nil {
			return nil, nil, err
		}
		var again []projection.WorkloadKey
		for _, key := range waiting {
			s := &source{loader: l, key: key}
			template, err := s.template()
			if template == nil && err == nil {
				gone = append(gone, key)
				continue
			}
			var facts *workload.Facts
			if err == nil {
				facts, err = workload.Gather(workload.Kind(key.Kind), template, s)
			}
			if s.incomplete {
				again = append(again, key)
				continue
			}
			rows = append(rows, rowOf(key, template, facts, err))
		}
		if waiting = again; len(waiting) == 0 {
			return rows, gone, nil
		}
	}
}

// load reads what is missing.
func (l *loader) load() error {
	for part, keys := range l.missing {
		objects, err := l.snapshot.Objects(part, slices.Collect(maps.Keys(keys)))
		if err != nil {
			return err
		}
		for key := range keys {
			l.objects[key] = nil
		}
		for i := range objects {
			l.objects[objects[i].ResourceKey] = decode(&objects[i])
		}
		clear(keys)
	}
	return nil
}

// membersOf are the members of an instance.
func (l *loader) membersOf(instance string) (map[string]workload.Member, error) {
	if members, ok := l.members[instance]; ok {
		return members, nil
	}
	rows, err := l.snapshot.Members(instance)
	if err != nil {
		return nil, err
	}
	members := make(map[string]workload.Member, len(rows))
	for i := range rows {
		members[rows[i].Name] = memberOf(&rows[i], l.joined[rows[i].Name], instance)
	}
	l.members[instance] = members
	return members, nil
}

// memberOf is a member as the states of workloads are computed from it.
func memberOf(row *projection.Member, collected projection.Collection, instance string) workload.Member {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: row.Name, Labels: row.Labels}}
	c.Spec.Provider, c.Spec.Region, c.Spec.Zones = row.Spec.Provider, row.Spec.Region, row.Spec.Zones
	for _, is := range row.Conditions {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: is.Type, Status: metav1.ConditionStatus(is.Status), Reason: is.Reason, Message: is.Message})
	}
	m := workload.MemberOf(c)
	m.CollectionStale = collected.Instance == instance && collected.Stale
	return m
}

// memberRow is the row of a member: so much of Karmada's object as memberOf reads.
func memberRow(key projection.MemberKey, c *clusterv1alpha1.Cluster) projection.Member {
	row := projection.Member{
		MemberKey: key, Labels: c.Labels, Conditions: []projection.MemberCondition{},
		Spec: projection.MemberSpec{Provider: c.Spec.Provider, Region: c.Spec.Region, Zones: c.Spec.Zones},
	}
	if row.Labels == nil {
		row.Labels = map[string]string{}
	}
	for _, is := range c.Status.Conditions {
		if is.Type == clusterv1alpha1.ClusterConditionReady {
			row.Conditions = append(row.Conditions, projection.MemberCondition{Type: is.Type, Status: string(is.Status), Reason: is.Reason, Message: is.Message})
		}
	}
	return row
}

// source is the Source of one workload.
type source struct {
	loader *loader
	key    projection.WorkloadKey
	// incomplete reports that something was asked for that is not read yet.
	incomplete bool
}

// find looks for an object among those that were read; nil when the index has none.
func find[T any](s *source, part projection.Piece, key projection.ResourceKey) (*T, error) {
	d, known := s.loader.objects[key]
	switch {
	case !known:
		s.loader.missing[part][key] = true
		s.incomplete = true
		return nil, nil //nolint:nilnil // It is read, and asked for again.
	case d == nil:
		return nil, nil //nolint:nilnil // The index has none.
	case d.err != nil:
		return nil, d.err
	}
	v, ok := d.value.(*T)
	if !ok {
		return nil, fmt.Errorf("%s %s/%s was read as %T", key.Resource, key.Namespace, key.Name, d.value)
	}
	return v, nil
}

// lenient are the options by which the index's objects are decoded everywhere.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decode reads an object as the type that is needed of its kind.
func decode(o *projection.Object) *decoded {
	d := &decoded{}
	switch t := (index.Type{Group: o.Group, Version: o.Version, Resource: o.Resource}); t {
	case withoutKind(index.ResourceBindings):
		d.value = &workv1alpha2.ResourceBinding{}
	case withoutKind(index.PropagationPolicies), withoutKind(index.ClusterPropagationPolicies):
		d.value = &policyv1alpha1.PropagationPolicy{} // Both kinds have the same spec.
	case withoutKind(index.MemberClusters):
		d.value = &clusterv1alpha1.Cluster{}
	case withoutKind(index.Works):
		d.value = &metav1.ObjectMeta{}
	default:
		d.value = &workload.Object{}
	}
	if err := jsonv2.Unmarshal(o.Text, d.value, lenient); err != nil {
		d.err = fmt.Errorf("reading %s %s/%s of %s: %w", o.Resource, o.Namespace, o.Name, o.Cluster, err)
	}
	return d
}

func withoutKind(t index.Type) index.Type {
	t.Kind = ""
	return t
}

// resource is the key of an object of the index.
func resource(cluster string, t index.Type, namespace, name string) projection.ResourceKey {
	return projection.ResourceKey{Cluster: cluster, Group: t.Group, Version: t.Version, Resource: t.Resource, Namespace: namespace, Name: name}
}

func (s *source) kind() workload.Kind { return workload.Kind(s.key.Kind) }

// virtual is the index's name of the instance.
func (s *source) virtual() string { return v1alpha1.VirtualClusterName(s.key.Instance) }

// in is the key of the workload's own object in a cluster of the index.
func (s *source) in(cluster string) projection.ResourceKey {
	gvr := s.kind().GVR()
	return resource(cluster, index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}, s.key.Namespace, s.key.Name)
}

func (s *source) template() (*workload.Object, error) {
	return find[workload.Object](s, projection.Whole, s.in(s.virtual()))
}

// Binding implements workload.Source.
func (s *source) Binding() (*workv1alpha2.ResourceBinding, error) {
	return find[workv1alpha2.ResourceBinding](s, projection.Whole, resource(s.virtual(), index.ResourceBindings, s.key.Namespace, s.kind().BindingName(s.key.Name)))
}

// Policy implements workload.Source.
func (s *source) Policy(ref *workload.PolicyRef) (*policyv1alpha1.PropagationSpec, error) {
	t := index.PropagationPolicies
	if ref.ClusterScoped() {
		t = index.ClusterPropagationPolicies
	}
	p, err := find[policyv1alpha1.PropagationPolicy](s, projection.Whole, resource(s.virtual(), t, ref.Namespace, ref.Name))
	if err != nil || p == nil {
		return nil, err
	}
	return &p.Spec, nil
}

// Members implements workload.Source.
func (s *source) Members() (map[string]workload.Member, error) {
	return s.loader.membersOf(s.key.Instance)
}

// Objects implements workload.Source. Nothing is collected from a foreign member.
func (s *source) Objects(clusters []string) (map[string]*workload.Object, error) {
	clusters = slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool { return s.loader.joined[cluster].Instance != s.key.Instance })
	return findEach[workload.Object](s, projection.Whole, clusters, s.in)
}

// Works implements workload.Source.
func (s *source) Works(clusters []string) (map[string]*metav1.ObjectMeta, error) {
	return findEach[metav1.ObjectMeta](s, projection.Metadata, clusters, func(cluster string) projection.ResourceKey {
		return resource(s.virtual(), index.Works, workload.ExecutionNamespace(cluster), s.kind().WorkName(s.key.Namespace, s.key.Name))
	})
}

// findEach looks for an object of each cluster.
func findEach[T any](s *source, part projection.Piece, clusters []string, key func(cluster string) projection.ResourceKey) (map[string]*T, error) {
	all := make(map[string]*T, len(clusters))
	for _, cluster := range clusters {
		o, err := find[T](s, part, key(cluster))
		if err != nil {
			return nil, err
		}
		if o != nil {
			all[cluster] = o
		}
	}
	return all, nil
}
