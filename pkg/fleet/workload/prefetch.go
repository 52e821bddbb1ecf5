package workload

import (
	"context"
	"slices"
	"sync"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/index"
)

// prefetch starts reading what will be asked of some workloads. Their states, which say in
// which members they are, come with them; where one has to be computed, what hangs on it
// is read when it is asked for.
func (s *Service) prefetch(ctx context.Context, rows []*index.Object, needs Needs) *prefetch {
	p := &prefetch{service: s, ctx: ctx, needs: needs}
	all := make([]placed, len(rows))
	for i, row := range rows {
		all[i].row = row
		if known := row.State; known != nil {
			for j := range known.Placements {
				all[i].place(known.Placements[j].Cluster, Health(known.Placements[j].Health))
			}
		}
	}
	p.start(all)
	return p
}

// prefetchPage reads what will be asked of the workloads of a page. It waits,
// because else their fields would, each in a goroutine: some hundreds that hold
// their stacks while the index works, for every operation that is under way.
func (s *Service) prefetchPage(ctx context.Context, rows []*index.Object, needs Needs) {
	s.prefetchEvents(ctx, rows, needs)
	s.prefetch(ctx, rows, needs).wait()
}

// prefetchEvents starts reading the events about some workloads in one request.
func (s *Service) prefetchEvents(ctx context.Context, rows []*index.Object, needs Needs) {
	for _, w := range needs.Events {
		s.events.PrefetchAbout(ctx, rows, w)
	}
}

// prefetch is one run of reading ahead.
type prefetch struct {
	service *Service
	ctx     context.Context //nolint:containedctx // It lives as long as the one call that makes it.
	needs   Needs

	mu sync.Mutex
	// waits return when something that was asked for is there, and what it led to
	// has been asked for.
	waits []func()

	// unwell are the objects whose pods an explanation names.
	unwell map[index.Key]bool
}

// placed is a workload and the clusters in which it is.
type placed struct {
	row      *index.Object
	clusters []string
	// unwell are those of the clusters in which it is not healthy.
	unwell []string
}

func (p *placed) place(cluster string, health Health) {
	p.clusters = append(p.clusters, cluster)
	if health != HealthHealthy {
		p.unwell = append(p.unwell, cluster)
	}
}

// read starts reading some objects.
func (p *prefetch) read(keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	p.readWith(p.service.lister.Reader, keys, detail, then)
}

func (p *prefetch) readWith(reader index.Reader, keys []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	if len(keys) == 0 {
		return
	}
	reader.Prefetch(p.ctx, keys, detail, then)
	// All keys are read in one request, so waiting for the first suffices. The field that needs the
	// object returns the error.
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

// start reads what the templates name, and what the workloads have in the members.
func (p *prefetch) start(all []placed) {
	var whole, objects, metadata, sent []index.Key
	joined := p.service.joined(p.ctx)
	p.unwell = map[index.Key]bool{}
	p.policies(all)
	p.interpreters(all)
	for _, one := range all {
		if ref := PolicyRefOf(&one.row.Meta); ref != nil && p.needs.Policy {
			key := policyKey(one.row.Cluster, ref)
			if p.needs.PolicyDetail == index.Metadata {
				metadata = append(metadata, key)
			} else {
				whole = append(whole, key)
			}
		}
		if p.needs.Binding {
			whole = append(whole, bindingKey(one.row))
		}
		for _, cluster := range one.clusters {
			if p.needs.MemberClusters {
				whole = append(whole, index.Key{Cluster: one.row.Cluster, Type: index.MemberClusters, Name: cluster})
			}
			if p.needs.Overrides {
				metadata = append(metadata, workKey(one.row, cluster))
			}
			if p.needs.Explanation {
				whole = append(whole, workKey(one.row, cluster))
				p.unwell[memberObjectKey(one.row, cluster)] = slices.Contains(one.unwell, cluster)
			}
			if !p.needs.Objects || KindOfAny(one.row).runsNothing() {
				continue
			}
			if p.needs.Drift {
				sent = append(sent, workKey(one.row, cluster))
			}
			key := memberObjectKey(one.row, cluster)
			// An error is returned by the field that needs the object.
			if known, err := p.service.collects(p.ctx, key); err == nil && known && slices.Contains(joined()[instanceOf(one.row)], cluster) {
				objects = append(objects, key)
			}
		}
	}
	if p.needs.OverridePolicies {
		// These take a request of their own, and the number of all is bounded: the others share one.
		p.read(slices.Concat(whole, objects), index.Whole, p.pods)
	} else {
		p.read(whole, index.Whole, nil)
		p.read(objects, p.needs.ObjectDetail, p.pods)
	}
	p.readWith(p.service.evidence, sent, index.Whole, nil)
	p.read(metadata, index.Metadata, func(found map[index.Key]*index.Object) { p.overrides(all, found) })
}

// policies reads the policies that an explanation compares with the workloads, for all namespaces at once.
func (p *prefetch) policies(all []placed) {
	if !p.needs.Explanation {
		return
	}
	var parts []index.Part
	for _, one := range all {
		for _, part := range policyParts(one.row) {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return
	}
	pages := func(reader index.Reader, q index.ListQuery) {
		reader.PrefetchPages(p.ctx, parts, q, nil)
		p.later(func() { _, _ = reader.PageOf(p.ctx, parts[0], q) })
	}
	pages(p.service.lister.Reader, propagationPoliciesOf)
	pages(p.service.evidence, overridePoliciesOf)
	pages(p.service.lister.Reader, overridePoliciesOf)
}

// interpreters reads the customizations of resource interpreters, of all instances at once.
func (p *prefetch) interpreters(all []placed) {
	if !p.needs.Drift || len(all) == 0 {
		return
	}
	var parts []index.Part
	for _, one := range all {
		if part := interpretersOf(one.row); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	p.service.evidence.PrefetchPages(p.ctx, parts, customizationsOf, nil)
	p.later(func() { _, _ = p.service.evidence.PageOf(p.ctx, parts[0], customizationsOf) })
}

// pods reads the pods of the objects that were found in the members.
func (p *prefetch) pods(found map[index.Key]*index.Object) {
	if !p.needs.Pods && !p.needs.Explanation {
		return
	}
	var owners []index.PodOwner
	for key, o := range found {
		if _, ok := KindFromGVR(key.Type.GroupVersionResource()); (ok || isCustom(key.Type)) && (p.needs.Pods || p.unwell[key]) {
			owners = append(owners, podOwner(o, p.needs.PodDetail))
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
func (p *prefetch) overrides(all []placed, works map[index.Key]*index.Object) {
	if !p.needs.OverridePolicies {
		return
	}
	namespaces := map[string]string{}
	for _, one := range all {
		namespaces[one.row.Cluster+"/"+workName(one.row)] = one.row.Meta.Namespace
	}
	keys := overrideKeys(works, func(work index.Key) string { return namespaces[work.Cluster+"/"+work.Name] })
	p.read(keys, p.needs.OverrideDetail, nil)
}

// overrideKeys are the override policies that some Works name, given the namespaces of what these carry. What
// is wrong with a Work its field says.
func overrideKeys(works map[index.Key]*index.Object, namespaceOf func(work index.Key) string) []index.Key {
	var keys []index.Key
	for key, work := range works {
		if key.Type != index.Works {
			continue
		}
		applied, err := appliedOverrides(work.Meta.Annotations)
		if err != nil {
			continue
		}
		for _, a := range applied {
			keys = append(keys, overrideKey(key.Cluster, namespaceOf(key), a))
		}
	}
	return keys
}

// joined finds out, when it is asked first, which of the inventory's clusters are joined to
// each instance. Their names are those of their rows in the index.
func (s *Service) joined(ctx context.Context) func() map[string][]string {
	return sync.OnceValue(func() map[string][]string {
		joined, err := s.clusters.Joined(ctx)
		if err != nil {
			return nil
		}
		return joined
	})
}

func policyKey(virtualCluster string, ref *PolicyRef) index.Key {
	t := index.PropagationPolicies
	if ref.ClusterScoped() {
		t = index.ClusterPropagationPolicies
	}
	return index.Key{Cluster: virtualCluster, Type: t, Namespace: ref.Namespace, Name: ref.Name}
}

func bindingKey(row *index.Object) index.Key {
	t := index.ResourceBindings
	if row.Meta.Namespace == "" {
		t = index.ClusterResourceBindings
	}
	return index.Key{Cluster: row.Cluster, Type: t, Namespace: row.Meta.Namespace, Name: BindingName(row.Kind, row.Meta.Name)}
}

// memberObjectKey is the key of the workload's object in a member. The member's
// rows are under the name of its inventory cluster.
func memberObjectKey(row *index.Object, member string) index.Key {
	of := kindOf(row).indexType()
	if _, custom := customKindOf(row); custom {
		plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(row.APIVersion, row.Kind))
		of = index.Type{Group: plural.Group, Version: plural.Version, Resource: plural.Resource, Kind: row.Kind}
	}
	return index.Key{Cluster: member, Type: of, Namespace: row.Meta.Namespace, Name: row.Meta.Name}
}

// collects reports whether the index collects objects of a key. Those of workloads that are not custom are
// collected of every member cluster.
func (s *Service) collects(ctx context.Context, key index.Key) (bool, error) {
	if !isCustom(key.Type) {
		return true, nil
	}
	asked, err := collection.Asked(ctx, s.lister.Freshness.Inventory, key.Cluster)
	return asked.Has(key.Type.GroupVersionResource()), err
}

func isCustom(of index.Type) bool {
	_, custom := CustomKind(schema.GroupKind{Group: of.Group, Kind: of.Kind})
	return custom
}

func workKey(row *index.Object, member string) index.Key {
	return index.Key{Cluster: row.Cluster, Type: index.Works, Namespace: ExecutionNamespace(member), Name: workName(row)}
}

func workName(row *index.Object) string {
	return karmadaWorkName(row.Kind, row.Meta.Name, row.Meta.Namespace)
}

func overrideKey(virtualCluster, namespace string, a AppliedOverride) index.Key {
	if a.ClusterScoped {
		return index.Key{Cluster: virtualCluster, Type: index.ClusterOverridePolicies, Name: a.PolicyName}
	}
	return index.Key{Cluster: virtualCluster, Type: index.OverridePolicies, Namespace: namespace, Name: a.PolicyName}
}

func podOwner(o *index.Object, detail index.Detail) index.PodOwner {
	return index.PodOwner{Owner: index.Owner{Cluster: o.Cluster, UID: o.Meta.UID}, Namespace: o.Meta.Namespace, Detail: detail}
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
