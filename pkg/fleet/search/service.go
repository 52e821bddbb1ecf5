package search

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// Service searches.
type Service struct {
	lister    *listing.Lister
	instances *instance.Service
	clusters  *cluster.Service
	watched   client.Reader
}

// NewService makes a Service. It reads with the lister, as far as the user may see it; the watch on the
// global cluster has what is collected.
func NewService(lister *listing.Lister, instances *instance.Service, clusters *cluster.Service, watched client.Reader) *Service {
	return &Service{lister: lister, instances: instances, clusters: clusters, watched: watched}
}

// search is one search.
type search struct {
	*Service
	ctx     context.Context //nolint:containedctx // It lives as long as the one call that makes it.
	text    text
	first   int
	wanted  map[Type]bool
	names   []string
	members []string
	// of is the instance of each member cluster.
	of map[string]string

	mu     sync.Mutex
	result Result
}

// Search returns the best hits of a text, of some types; of all where none are given. It sends a request to
// each of a few sources, beside each other, whatever there is.
func (s *Service) Search(ctx context.Context, of string, first *int, only []Type) (*Result, error) {
	t, err := newText(of)
	if err != nil {
		return nil, err
	}
	one := &search{Service: s, ctx: ctx, text: t, first: defaultHits, wanted: map[Type]bool{}, of: map[string]string{}}
	if first != nil {
		if one.first = *first; one.first < 1 || one.first > maxHits {
			return nil, apierror.Invalid("first", "%d is out of range; ask for 1 to %d", one.first, maxHits)
		}
	}
	if only == nil {
		only = types
	}
	for _, typ := range only {
		one.wanted[typ] = true
	}
	if one.names, err = s.instances.Names(ctx); err != nil {
		return nil, err
	}
	joined, err := s.clusters.Joined(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range one.names {
		for _, member := range joined[name] {
			one.members, one.of[member] = append(one.members, member), name
		}
	}
	return one.run()
}

// run searches everywhere.
func (s *search) run() (*Result, error) {
	if err := s.inventory(); err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	for _, ask := range []func() error{s.workloads, s.pods, s.collected, s.similar, s.namespaces} {
		all.Go(func() {
			if err := ask(); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.result.Failed = append(s.result.Failed, err)
			}
		})
	}
	all.Wait()
	hits, more := best(s.result.Hits, s.first)
	s.result.Hits, s.result.HasMore = hits, s.result.HasMore || more
	if s.result.Freshness.Source == "" {
		s.result.Freshness = s.lister.Freshness.Live(s.ctx)
	}
	return &s.result, nil
}

// add adds a hit, if the text matches.
func (s *search) add(h Hit, of subject) {
	var ok bool
	if h.MatchedBy, h.MatchedText, h.rank, ok = s.text.match(&of); !ok || !s.wanted[h.Type] {
		return
	}
	h.Name, h.namespace = of.name, of.namespace
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.Hits = append(s.result.Hits, &h)
}

// read adds what was read from clusters: whether there is more, and how old it is.
func (s *search) read(more bool, fresh freshness.Freshness) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result.HasMore = s.result.HasMore || more
	if s.result.Freshness.Source == "" || older(fresh, s.result.Freshness) {
		s.result.Freshness = fresh
	}
}

// older reports whether less is known of one moment than of the other.
func older(a, b freshness.Freshness) bool {
	switch {
	case a.Stale != b.Stale:
		return a.Stale
	case a.ObservedAt == nil || b.ObservedAt == nil:
		return a.ObservedAt == nil && b.ObservedAt != nil
	}
	return a.ObservedAt.Before(*b.ObservedAt)
}

// inventory searches the watch on the global cluster.
func (s *search) inventory() error {
	if s.wanted[TypeInstance] {
		all, err := s.instances.All(s.ctx)
		if err != nil {
			return err
		}
		for _, i := range all {
			s.add(Hit{Type: TypeInstance, Kind: "Instance", InstanceName: i.Name, id: i.ID()}, subject{name: i.Name, uid: string(i.UID), alias: i.Spec.Alias, labels: i.Instance.Labels})
		}
	}
	if s.wanted[TypeCluster] {
		all, err := s.clusters.All(s.ctx)
		if err != nil {
			return err
		}
		for _, c := range all {
			if !c.Spec.Hidden {
				s.add(Hit{Type: TypeCluster, Kind: "Cluster", InstanceName: c.InstanceName(), id: c.ID()}, subject{name: c.Name, uid: string(c.UID), alias: c.Spec.Alias, labels: c.Cluster.Labels})
			}
		}
	}
	return nil
}

// workloads searches the templates of workloads, with one statement.
func (s *search) workloads() error {
	if !s.wanted[TypeWorkload] {
		return nil
	}
	r := s.request(workloadTypes())
	r.Custom = &index.Custom{}
	result, err := s.lister.List(s.ctx, r)
	if err != nil {
		return err
	}
	s.read(result.HasNext, result.Freshness)
	for _, o := range result.Items {
		template, err := index.Decode[workload.Object](o)
		if err != nil {
			return err
		}
		of := subjectOf(o)
		of.images = template.Images()
		name := v1alpha1.InstanceOfVirtualCluster(o.Cluster)
		kind, _ := workload.KindOf(o)
		s.add(Hit{Type: TypeWorkload, Kind: o.Kind, InstanceName: name, id: nodeid.New(workload.TypeName, name, string(kind), of.namespace, of.name)}, of)
	}
	return nil
}

// pods searches the pods of member clusters, with one statement.
func (s *search) pods() error {
	if !s.wanted[TypePod] {
		return nil
	}
	r := s.request([]index.Type{index.Pods})
	r.Projected.Pods, r.Members = &index.PodFilter{}, slices.Clone(s.members)
	if r.Members == nil {
		r.Members = []string{}
	}
	result, err := s.lister.List(s.ctx, r)
	if err != nil {
		return err
	}
	s.read(result.HasNext, result.Freshness)
	for _, o := range result.Items {
		of := subjectOf(o)
		of.labels, of.images = o.Pod.Labels, o.Pod.Images
		s.add(Hit{Type: TypePod, Kind: "Pod", InstanceName: o.Pod.Instance, cluster: o.Pod.Cluster}, of)
	}
	return nil
}

// request is the list of the projection that fits the text best.
func (s *search) request(types []index.Type) listing.Request {
	by := &index.Projected{Words: s.text.words, Relevant: s.text.whole}
	if s.text.uid {
		by.Words, by.UID = nil, s.text.whole
	}
	return listing.Request{
		Noun: "SearchHit", Types: types, Instances: s.names, Args: page.Args{First: &s.first}, Projected: by,
		Order: index.Order{Field: index.OrderByRelevance}, Detail: index.Metadata,
	}
}

// similarTypes are the kinds of which there are few, so that parts of their names are searched for; of
// others, and of these in any number, whole names are.
var similarTypes = map[Type][]index.Type{
	TypeMemberCluster: {index.MemberClusters},
	TypePolicy:        {index.PropagationPolicies, index.ClusterPropagationPolicies, index.OverridePolicies, index.ClusterOverridePolicies},
	TypeNode:          {{Version: "v1", Resource: "nodes", Kind: "Node"}},
}

// mostSimilar is how many of them are compared.
const mostSimilar = 200

// similar searches for parts of names.
func (s *search) similar() error {
	var of []index.Type
	for _, typ := range types {
		if s.wanted[typ] {
			of = append(of, similarTypes[typ]...)
		}
	}
	return s.list(of, func(q *index.ListQuery) { q.NameContains, q.Limit = s.text.whole, mostSimilar })
}

// namespaces searches for Namespaces. They are a list of their own, because roles in some namespaces
// show these and nothing else that has no namespace.
func (s *search) namespaces() error {
	if !s.wanted[TypeNamespace] {
		return nil
	}
	return s.list([]index.Type{index.Namespaces}, func(q *index.ListQuery) { q.NameContains, q.Limit = s.text.whole, mostSimilar })
}

// notSearched are kinds that are found otherwise, or of which no one knows the names.
var notSearched = []index.Type{index.Pods, index.Namespaces, index.Events, index.Works}

// collected searches everything that is collected for a name.
func (s *search) collected() error {
	var of []index.Type
	add := func(t index.Type) {
		same := func(o index.Type) bool {
			return o.Group == t.Group && o.Version == t.Version && o.Resource == t.Resource
		}
		if !slices.ContainsFunc(of, same) && !slices.ContainsFunc(notSearched, same) {
			of = append(of, t)
		}
	}
	for _, typ := range types {
		for _, t := range similarTypes[typ] {
			if s.wanted[typ] {
				add(t)
			}
		}
	}
	if s.wanted[TypeResource] {
		for _, name := range s.all() {
			kinds, err := collection.Asked(s.ctx, s.watched, name)
			if err != nil {
				return err
			}
			for _, kind := range kinds.All() {
				add(index.Type{Group: kind.Group, Version: kind.Version, Resource: kind.Resource})
			}
		}
	}
	return s.list(of, func(q *index.ListQuery) { q.Names, q.Limit = []string{s.text.whole}, s.first })
}

// all are the clusters of the index that are searched.
func (s *search) all() []string {
	all := slices.Clone(s.members)
	for _, name := range s.names {
		all = append(all, v1alpha1.VirtualClusterName(name))
	}
	return all
}

// list searches objects of the instances and of their members in the index, with one request.
func (s *search) list(of []index.Type, narrow func(*index.ListQuery)) error {
	q := index.ListQuery{Types: of, Clusters: s.all(), Order: index.Order{Field: index.OrderByName}, Detail: index.Metadata}
	if len(of) == 0 || len(q.Clusters) == 0 || len(s.text.words) > 1 {
		return nil // No name has a space.
	}
	narrow(&q)
	found, err := s.lister.Reader.List(s.ctx, q)
	if err != nil {
		return err
	}
	s.read(found.HasNext, s.lister.Freshness.Of(s.ctx, q.Clusters...).AsOf(found.AsOf, s.lister.Now()))
	for _, o := range found.Items {
		s.addObject(typeOf(of, o), o)
	}
	return nil
}

// addObject adds an object of the index.
func (s *search) addObject(t index.Type, o *index.Object) {
	of := subjectOf(o)
	of.labels = nil // Not every object was looked at for these.
	h := Hit{Type: TypeResource, Kind: o.Kind, InstanceName: v1alpha1.InstanceOfVirtualCluster(o.Cluster)}
	if h.InstanceName == "" {
		h.InstanceName, h.cluster = s.of[o.Cluster], o.Cluster
	}
	_, isWorkload := workload.KindFromGVR(t.GroupVersionResource())
	switch {
	case h.cluster != "":
		if t.Group == "" && t.Resource == "nodes" {
			h.Type = TypeNode
		}
		if t.Group == "" && t.Resource == index.Namespaces.Resource {
			h.Type = TypeNamespace
		}
		h.id = nodeid.New(resource.InMember, h.InstanceName, h.cluster, t.Group, t.Version, t.Resource, of.namespace, of.name)
	case isWorkload:
		return // The projection has it.
	case t.Group == index.PropagationPolicies.Group && slices.ContainsFunc(similarTypes[TypePolicy], func(p index.Type) bool { return p.Resource == t.Resource }):
		h.Type, h.id = TypePolicy, nodeid.New(o.Kind, h.InstanceName, of.namespace, of.name)
	case t.Group == index.MemberClusters.Group && t.Resource == index.MemberClusters.Resource:
		h.Type, h.id = TypeMemberCluster, nodeid.New(membercluster.TypeName, h.InstanceName, of.name)
	case t.Group == "" && t.Resource == index.Namespaces.Resource:
		h.Type, h.id = TypeNamespace, nodeid.New(namespace.TypeName, h.InstanceName, of.name)
	default:
		h.id = nodeid.New(resource.TypeName, h.InstanceName, t.Group, t.Version, t.Resource, of.namespace, of.name)
	}
	s.add(h, of)
}

func subjectOf(o *index.Object) subject {
	return subject{name: o.Meta.Name, namespace: o.Meta.Namespace, uid: string(o.Meta.UID), labels: o.Meta.Labels}
}

func workloadTypes() []index.Type {
	var all []index.Type
	for _, kind := range workload.Kinds() {
		gvr := kind.GVR()
		all = append(all, index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: kind.GVK().Kind})
	}
	return all
}

// typeOf is the type of an object, of those that were asked for: the index names its kind, and a resource
// is a plural of that.
func typeOf(of []index.Type, o *index.Object) index.Type {
	guessed, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
	t := index.Type{Group: guessed.Group, Version: guessed.Version, Resource: guessed.Resource, Kind: o.Kind}
	for _, one := range of {
		if one.Group == t.Group && one.Version == t.Version && (one.Kind == o.Kind || one.Resource == t.Resource || one.Kind == "" && strings.EqualFold(one.Resource, o.Kind)) {
			return index.Type{Group: one.Group, Version: one.Version, Resource: one.Resource, Kind: o.Kind}
		}
	}
	return t
}
