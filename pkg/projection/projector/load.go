package projector

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// loader reads, for many workloads at once, the objects that their states are computed from. It
// runs workload.Gather on the objects that it has, notes those that Gather misses, reads all of
// them in one batch, and repeats that until nothing is missing.
type loader struct {
	snapshot *projection.Snapshot
	// reading is held while the snapshot is read, which others may read too; see evaluateAll.
	reading *sync.Mutex
	joined  map[string]projection.Collection
	// members are those of each instance, as the rows of the projection have them.
	members map[string]map[string]workload.Member
	// objects are the decoded objects; nil for one that the index does not have.
	objects map[projection.ResourceKey]*decoded
	missing map[projection.ResourceKey]bool
	// lists are the override policies of namespaces, and the customizations of resource interpreters, by keys
	// without a name.
	lists        map[projection.ResourceKey][]*decoded
	missingLists map[projection.ResourceKey]bool
}

// decoded is an object, or why it cannot be read.
type decoded struct {
	value any
	// text is the object as JSON, of one in a member.
	text []byte
	err  error
}

func newLoader(s *projection.Snapshot) (*loader, error) {
	collections, err := s.Collections()
	if err != nil {
		return nil, err
	}
	joined := make(map[string]projection.Collection, len(collections))
	for _, c := range collections {
		joined[c.Cluster] = c
	}
	return loaderOf(s, &sync.Mutex{}, joined), nil
}

func loaderOf(s *projection.Snapshot, reading *sync.Mutex, joined map[string]projection.Collection) *loader {
	return &loader{
		snapshot: s, reading: reading, joined: joined, members: map[string]map[string]workload.Member{},
		objects: map[projection.ResourceKey]*decoded{}, missing: map[projection.ResourceKey]bool{},
		lists: map[projection.ResourceKey][]*decoded{}, missingLists: map[projection.ResourceKey]bool{},
	}
}

// sides is how many parts of a batch are computed side by side: while the objects of one are decoded and compared, those
// of another are read.
const sides = 2

// evaluateAll computes the rows of any number of workloads; see evaluate.
func (l *loader) evaluateAll(keys []projection.WorkloadKey) (rows []projection.Workload, gone []projection.WorkloadKey, err error) {
	var mu sync.Mutex
	var all errgroup.Group
	for some := range slices.Chunk(keys, max(1, (len(keys)+sides-1)/sides)) {
		all.Go(func() error {
			computed, missing, err := loaderOf(l.snapshot, l.reading, l.joined).evaluate(some)
			mu.Lock()
			defer mu.Unlock()
			rows, gone = append(rows, computed...), append(gone, missing...)
			return err
		})
	}
	err = all.Wait()
	return rows, gone, err
}

// evaluate computes the rows of some workloads, and finds those that the index does not have.
func (l *loader) evaluate(keys []projection.WorkloadKey) (rows []projection.Workload, gone []projection.WorkloadKey, err error) {
	for _, key := range keys {
		// These are needed in any case.
		s := &source{loader: l, key: key}
		_, _ = s.template()
		_, _ = s.Binding()
		_, _ = s.customizations()
	}
	var known []*gathered
	for waiting := keys; len(waiting) > 0; {
		if err := l.load(); err != nil {
			return nil, nil, err
		}
		var again []projection.WorkloadKey
		for _, key := range waiting {
			s := &source{loader: l, key: key}
			template, err := s.template()
			if template == nil && err == nil && !s.incomplete {
				gone = append(gone, key)
				continue
			}
			var facts *workload.Facts
			if err == nil && template != nil {
				facts, err = workload.Gather(workload.Kind(key.Kind), template, s)
			}
			if s.incomplete {
				again = append(again, key)
				continue
			}
			known = append(known, &gathered{source: s, template: template, facts: facts, err: err})
		}
		waiting = again
	}
	rows = make([]projection.Workload, len(known))
	each(len(known), func(i int) { rows[i] = known[i].row() })
	return rows, gone, nil
}

// gathered is what the row of a workload is computed from, or why that cannot be read.
type gathered struct {
	*source

	template *workload.Object
	facts    *workload.Facts
	err      error
}

func (g *gathered) row() projection.Workload {
	row := rowOf(g.key, g.template, g.facts, g.err, g.drifted)
	if g.kind().Custom() {
		row.Object = storedCustom(g.template, g.resource)
	}
	return row
}

// each calls a function for the numbers below n, on all processors: decoding objects and comparing them is most of the
// work of a batch, and the database waits meanwhile.
func each(n int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error { do(i); return nil })
	}
	_ = g.Wait() // There are no errors.
}

// load reads what is missing.
func (l *loader) load() error {
	l.reading.Lock()
	objects, err := l.snapshot.Objects(projection.Whole, slices.Collect(maps.Keys(l.missing)))
	var listed []projection.Object
	if err == nil {
		listed, err = l.snapshot.InNamespaces(slices.Collect(maps.Keys(l.missingLists)))
	}
	l.reading.Unlock()
	if err != nil {
		return err
	}
	for key := range l.missing {
		l.objects[key] = nil
	}
	read := make([]*decoded, len(objects))
	each(len(objects), func(i int) { read[i] = decode(&objects[i]) })
	for i := range objects {
		l.objects[objects[i].ResourceKey] = read[i]
	}
	clear(l.missing)
	for key := range l.missingLists {
		l.lists[key] = nil
	}
	for i := range listed {
		key := listed[i].ResourceKey
		key.Name = ""
		l.lists[key] = append(l.lists[key], decode(&listed[i]))
	}
	clear(l.missingLists)
	return nil
}

// membersOf are the members of an instance.
func (l *loader) membersOf(instance string) (map[string]workload.Member, error) {
	if members, ok := l.members[instance]; ok {
		return members, nil
	}
	l.reading.Lock()
	rows, err := l.snapshot.Members(instance)
	l.reading.Unlock()
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

// decode reads an object as the type that is needed of its kind.
func decode(o *projection.Object) *decoded {
	d := &decoded{}
	if workload.CustomGroup(o.Group) {
		if d.value, d.err = workload.ParseCustom(o.Text); d.err != nil {
			d.err = fmt.Errorf("reading %s %s/%s of %s: %w", o.Resource, o.Namespace, o.Name, o.Cluster, d.err)
		}
		return d
	}
	switch t := (index.Type{Group: o.Group, Version: o.Version, Resource: o.Resource}); t {
	case withoutKind(index.ResourceBindings):
		d.value = &workv1alpha2.ResourceBinding{}
	case withoutKind(index.PropagationPolicies), withoutKind(index.ClusterPropagationPolicies):
		d.value = &policyv1alpha1.PropagationPolicy{} // Both kinds have the same spec.
	case withoutKind(index.OverridePolicies), withoutKind(index.ClusterOverridePolicies):
		d.value = &policyv1alpha1.OverridePolicy{} // The same.
	case withoutKind(index.MemberClusters):
		d.value = &clusterv1alpha1.Cluster{}
	case withoutKind(index.ResourceInterpreterCustomizations):
		d.value = &configv1alpha1.ResourceInterpreterCustomization{}
	case withoutKind(index.Works):
		d.value = &workv1alpha1.Work{}
	default:
		d.value, d.text = &workload.Object{}, o.Text
	}
	if err := jsonv2.Unmarshal(o.Text, d.value, index.Lenient); err != nil {
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
