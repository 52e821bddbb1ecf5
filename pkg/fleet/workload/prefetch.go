package workload

import (
	"context"
	"maps"
	"slices"
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/index"
)

// speculateUpTo is the number of member clusters of an instance up to which the
// objects in the members are asked for before it is known where each workload
// was scheduled. It saves a round trip and costs names that may not exist; with
// many members it would cost more than it saves.
const speculateUpTo = 8

// prefetch starts reading what will be asked of some workloads, all in one go:
// bindings, policies and, where the members are few, the objects in the members.
func (s *Service) prefetch(ctx context.Context, rows []*index.Object, needs Needs) *prefetch {
	if len(rows) == 0 || (!needs.Policy && !needs.Binding && !needs.members()) {
		return nil
	}
	p := &prefetch{service: s, ctx: ctx, needs: needs, rows: rows, members: map[string][]string{}, known: map[index.Key]*index.Object{}}
	if needs.members() {
		for _, name := range p.instances() {
			p.members[name] = s.joined(ctx, name)
		}
	}
	p.start()
	return p
}

// prefetchPage reads what will be asked of the workloads of a page. It waits,
// because else their fields would, each in a goroutine: some hundreds that hold
// their stacks while the index works, for every operation that is under way.
func (s *Service) prefetchPage(ctx context.Context, rows []*index.Object, needs Needs) {
	s.prefetchEvents(ctx, rows, needs)
	if p := s.prefetch(ctx, rows, needs); p != nil {
		p.wait()
	}
}

// prefetchEvents starts reading the events about some workloads, together.
func (s *Service) prefetchEvents(ctx context.Context, rows []*index.Object, needs Needs) {
	for _, w := range needs.Events {
		s.events.PrefetchAbout(ctx, rows, w)
	}
}

func (n Needs) members() bool { return n.Status || n.Overrides || n.Pods || n.MemberClusters }

// prefetch is one run of reading ahead.
type prefetch struct {
	service *Service
	ctx     context.Context //nolint:containedctx // It lives as long as the one call that makes it.
	needs   Needs
	rows    []*index.Object
	// members are the names of the inventory's clusters that are joined to each instance.
	members map[string][]string

	mu sync.Mutex
	// known are the bindings and the objects in the members that were found.
	known map[index.Key]*index.Object
	// parts is how many requests for these are not answered yet.
	parts int
	// waits return when something that was asked for is there, and what it led to
	// has been asked for.
	waits []func()
}

// read starts reading some objects.
func (p *prefetch) read(keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	if len(keys) == 0 {
		return
	}
	reader := p.service.lister.Reader
	reader.Prefetch(p.ctx, keys, detail, then)
	// What is read together is there together. An error is told by the field that
	// asks for it.
	p.later(func() { _, _ = reader.Get(p.ctx, keys[0], detail) })
}

func (p *prefetch) later(wait func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, wait)
}

// wait returns when everything is there.
func (p *prefetch) wait() {
	for i := 0; ; i++ {
		p.mu.Lock()
		if i == len(p.waits) {
			p.mu.Unlock()
			return
		}
		wait := p.waits[i]
		p.mu.Unlock()
		wait()
	}
}

func (p *prefetch) instances() []string {
	names := map[string]struct{}{}
	for _, row := range p.rows {
		names[instanceOf(row)] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}

// start reads everything that the templates alone lead to.
//
// The objects in the members are most of what is read, and the index works on
// one request at a time, so they are asked for beside the bindings and not
// together with them. Where override policies are wanted, that takes requests of
// its own, and the number of all is bounded: then they share one.
func (p *prefetch) start() {
	var (
		bindings = make([]index.Key, 0, 2*len(p.rows))
		objects  = make([]index.Key, 0, 2*len(p.rows))
		metadata []index.Key
		later    bool
	)
	for _, row := range p.rows {
		if ref := PolicyRefOf(&row.Meta); ref != nil && (p.needs.Policy || p.needs.Status) {
			key := policyKey(row.Cluster, ref)
			if p.needs.PolicyDetail == index.Metadata && !p.needs.Status {
				metadata = append(metadata, key)
			} else {
				bindings = append(bindings, key)
			}
		}
		if p.needs.Binding || p.needs.members() {
			bindings = append(bindings, bindingKey(row))
		}
		if !p.needs.members() {
			continue
		}
		members := p.members[instanceOf(row)]
		if len(members) > speculateUpTo {
			later = true
			continue
		}
		objects = p.appendObjects(objects, row, members)
		metadata = p.appendWorks(metadata, row, members)
	}
	roster := p.startRoster()
	fromBindings := func(found map[index.Key]*index.Object) {
		roster()
		if later {
			p.second(found)
		}
		p.explain(found)
	}
	fromObjects := func(found map[index.Key]*index.Object) {
		roster()
		p.pods(found)
		p.explain(found)
	}
	if p.needs.Overrides {
		p.read(slices.Concat(bindings, objects), index.Whole, func(found map[index.Key]*index.Object) {
			fromBindings(found)
			fromObjects(found)
		})
	} else {
		p.parts = 1
		if len(objects) > 0 {
			p.parts++
		}
		p.read(bindings, index.Whole, fromBindings)
		p.read(objects, p.needs.ObjectDetail, fromObjects)
	}
	p.read(metadata, index.Metadata, p.overrides)
}

// startRoster has the instances' members read beside the objects, so that
// everybody who computes a status finds them.
func (p *prefetch) startRoster() (wait func()) {
	if !p.needs.Status {
		return func() {}
	}
	return p.service.roster.Start(p.ctx, p.instances()...)
}

// second reads what the bindings lead to, for instances with many members.
func (p *prefetch) second(found map[index.Key]*index.Object) {
	var objects, works []index.Key
	for _, row := range p.rows {
		members := p.members[instanceOf(row)]
		if len(members) <= speculateUpTo {
			continue
		}
		b, err := decodeBinding(found[bindingKey(row)])
		if err != nil || b == nil {
			continue
		}
		var targets []string
		for _, name := range Clusters(b) {
			if slices.Contains(members, name) {
				targets = append(targets, name)
			}
		}
		objects = p.appendObjects(objects, row, targets)
		works = p.appendWorks(works, row, targets)
	}
	if len(objects) > 0 {
		p.mu.Lock()
		p.parts++
		p.mu.Unlock()
	}
	p.read(objects, p.needs.ObjectDetail, func(found map[index.Key]*index.Object) {
		p.pods(found)
		p.explain(found)
	})
	p.read(works, index.Metadata, p.overrides)
}

// explain reads the Works of the clusters that run another number of replicas than
// the scheduler assigned, once the bindings and the objects are known: one request
// for all, and none as long as the numbers agree.
func (p *prefetch) explain(found map[index.Key]*index.Object) {
	if !p.needs.Status || p.needs.Overrides {
		return // The Works are read anyway.
	}
	p.mu.Lock()
	maps.Copy(p.known, found)
	p.parts--
	complete := p.parts == 0
	p.mu.Unlock()
	if !complete {
		return
	}
	var keys []index.Key
	for _, row := range p.rows {
		for _, cluster := range p.unexplained(row) {
			keys = append(keys, workKey(row, cluster))
		}
	}
	p.read(keys, index.Metadata, nil)
}

// unexplained lists the clusters of Facts.unexplained, as far as they are known.
func (p *prefetch) unexplained(row *index.Object) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := decodeBinding(p.known[bindingKey(row)])
	if err != nil || b == nil {
		return nil
	}
	template, err := index.Decode[Object](row)
	if err != nil {
		return nil
	}
	in := Facts{Kind: kindOf(row), Template: template, Binding: b, Objects: map[string]*Object{}}
	for _, cluster := range Clusters(b) {
		o := p.known[memberObjectKey(row, cluster)]
		if o == nil {
			continue
		}
		if in.Objects[cluster], err = index.Decode[Object](o); err != nil {
			return nil
		}
	}
	clusters := in.unexplained()
	// Which of the two sources counts depends on whether the member is collected, which
	// is not known here.
	in.Objects = nil
	clusters = append(clusters, in.unexplained()...)
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// pods reads the pods of the objects that were found in the members.
func (p *prefetch) pods(found map[index.Key]*index.Object) {
	if !p.needs.Pods {
		return
	}
	var owners []index.PodOwner
	for key, o := range found {
		if _, ok := KindFromGVR(key.Type.GroupVersionResource()); ok {
			owners = append(owners, podOwner(o))
		}
	}
	if len(owners) == 0 {
		return
	}
	reader := p.service.lister.Reader
	reader.PrefetchPods(p.ctx, owners)
	p.later(func() { _, _ = reader.PodsOf(p.ctx, owners[0]) })
}

// overrides reads the override policies that the Works name.
func (p *prefetch) overrides(works map[index.Key]*index.Object) {
	if !p.needs.Overrides {
		return
	}
	namespaces := map[string]string{}
	for _, row := range p.rows {
		namespaces[row.Cluster+"/"+workName(row)] = row.Meta.Namespace
	}
	var keys []index.Key
	for key, work := range works {
		if key.Type != index.Works {
			continue
		}
		applied, err := AppliedOverrides(work.Meta.Annotations)
		if err != nil {
			continue
		}
		for _, a := range applied {
			keys = append(keys, overrideKey(key.Cluster, namespaces[key.Cluster+"/"+key.Name], a))
		}
	}
	p.read(keys, p.needs.OverrideDetail, nil)
}

func (p *prefetch) appendObjects(keys []index.Key, row *index.Object, members []string) []index.Key {
	if !p.needs.Status && !p.needs.Pods {
		if !p.needs.MemberClusters {
			return keys
		}
	} else {
		for _, m := range members {
			keys = append(keys, memberObjectKey(row, m))
		}
	}
	if p.needs.MemberClusters {
		for _, m := range members {
			keys = append(keys, index.Key{Cluster: row.Cluster, Type: index.MemberClusters, Name: m})
		}
	}
	return keys
}

func (p *prefetch) appendWorks(keys []index.Key, row *index.Object, members []string) []index.Key {
	if !p.needs.Overrides {
		return keys
	}
	for _, m := range members {
		keys = append(keys, workKey(row, m))
	}
	return keys
}

// joined are the inventory's clusters that are joined to an instance. Their
// names are those of their rows in the index.
func (s *Service) joined(ctx context.Context, instanceName string) []string {
	members, err := s.clusters.MembersOf(ctx, instanceName)
	if err != nil {
		return nil
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}

func policyKey(virtualCluster string, ref *PolicyRef) index.Key {
	t := index.PropagationPolicies
	if ref.ClusterScoped() {
		t = index.ClusterPropagationPolicies
	}
	return index.Key{Cluster: virtualCluster, Type: t, Namespace: ref.Namespace, Name: ref.Name}
}

func bindingKey(row *index.Object) index.Key {
	return index.Key{Cluster: row.Cluster, Type: index.ResourceBindings, Namespace: row.Meta.Namespace, Name: BindingName(row.Kind, row.Meta.Name)}
}

// memberObjectKey is the key of the workload's object in a member. The member's
// rows are under the name of its inventory cluster.
func memberObjectKey(row *index.Object, member string) index.Key {
	k := kindOf(row)
	return index.Key{Cluster: member, Type: k.indexType(), Namespace: row.Meta.Namespace, Name: row.Meta.Name}
}

func workKey(row *index.Object, member string) index.Key {
	return index.Key{Cluster: row.Cluster, Type: index.Works, Namespace: ExecutionNamespace(member), Name: workName(row)}
}

func workName(row *index.Object) string { return WorkName(row.Kind, row.Meta.Name, row.Meta.Namespace) }

func overrideKey(virtualCluster, namespace string, a AppliedOverride) index.Key {
	if a.ClusterScoped {
		return index.Key{Cluster: virtualCluster, Type: index.ClusterOverridePolicies, Name: a.PolicyName}
	}
	return index.Key{Cluster: virtualCluster, Type: index.OverridePolicies, Namespace: namespace, Name: a.PolicyName}
}

func podOwner(o *index.Object) index.PodOwner {
	return index.PodOwner{Owner: index.Owner{Cluster: o.Cluster, UID: o.Meta.UID}, Namespace: o.Meta.Namespace}
}

func kindOf(o *index.Object) Kind {
	for i := range kinds {
		if kinds[i].gvk.Kind == o.Kind {
			return kinds[i].kind
		}
	}
	return ""
}

func decodeBinding(o *index.Object) (*workv1alpha2.ResourceBinding, error) {
	if o == nil {
		return nil, nil //nolint:nilnil // A workload that no policy claimed has no binding.
	}
	return index.Decode[workv1alpha2.ResourceBinding](o)
}
