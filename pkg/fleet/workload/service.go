package workload

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/index"
)

// Service reads workloads and everything that hangs on them.
type Service struct {
	lister      *listing.Lister
	templates   Templates
	evidence    index.Reader
	instances   *instance.Service
	clusters    *cluster.Service
	memberCache *membercluster.Cache
	events      *event.Service
}

// NewService makes a Service. What it shows it reads with the lister, as far as the user may
// see it; the evidence is for states alone.
func NewService(lister *listing.Lister, evidence index.Reader, instances *instance.Service, clusters *cluster.Service, memberCache *membercluster.Cache) *Service {
	return &Service{lister: lister, templates: NewTemplates(lister.Reader), evidence: evidence, instances: instances, clusters: clusters, memberCache: memberCache, events: event.NewService(lister)}
}

// Get returns one workload; nil when there is none of that kind and name.
func (s *Service) Get(ctx context.Context, instanceName string, kind Kind, namespace, name string, needs Needs) (Any, error) {
	o, err := index.Find(ctx, s.lister.Reader, keyOf(instanceName, kind, namespace, name), needs.template())
	if o == nil || err != nil {
		return nil, apierror.In(err, instanceName)
	}
	rows := []*index.Object{o}
	s.prefetchEvents(ctx, rows, needs)
	s.prefetch(ctx, rows, needs)
	return newWorkload(s.settingOf(ctx, instanceName, asOf(rows)), o), nil
}

// List returns a page of the workloads of all instances.
func (s *Service) List(ctx context.Context, a ListArgs, needs Needs) (*Connection, error) {
	names, err := s.Instances(ctx, a.Filter)
	if err != nil {
		return nil, err
	}
	r, err := a.request(TypeName, names, needs)
	if err != nil {
		return nil, err
	}
	result, err := s.lister.List(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, result, r, needs), nil
}

// Instances returns the instances that List reads with a filter.
func (s *Service) Instances(ctx context.Context, f *Filter) ([]string, error) {
	names, err := s.instances.Names(ctx)
	return f.within(names), err
}

// ListInstance returns a page of the workloads of one instance.
func (s *Service) ListInstance(ctx context.Context, name string, a ListArgs, needs Needs) (*Connection, error) {
	r, err := requestIn([]string{name}, a, needs)
	if err != nil {
		return nil, err
	}
	result, err := s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, result, r, needs), nil
}

// ListClaimed returns a page of the workloads that a policy claimed. Concurrent lists of several
// policies share a request.
func (s *Service) ListClaimed(ctx context.Context, p *policy.Policy, a ListArgs, needs Needs) (*Connection, error) {
	r, err := requestIn([]string{p.Instance}, a, needs)
	if err != nil {
		return nil, err
	}
	r.Part = claimOf(p.Indexed)
	result, err := s.lister.ListOne(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.page(ctx, result, r, needs), nil
}

// Prefetch starts reading what ListInstance will be asked for in each instance,
// and what hangs on it.
func (s *Service) Prefetch(ctx context.Context, instances []string, a ListArgs, needs Needs) {
	r, err := requestIn(instances, a, needs)
	if err != nil {
		return // ListInstance says what is wrong.
	}
	s.lister.Prefetch(ctx, r, s.thenPrefetch(ctx, needs))
}

// PrefetchClaimed starts reading what ListClaimed will be asked for of each of some
// policies of one kind, and what hangs on it.
func (s *Service) PrefetchClaimed(ctx context.Context, policies []*index.Object, a ListArgs, needs Needs) {
	if len(policies) == 0 {
		return
	}
	var instances []string
	parts := make([]index.Part, len(policies))
	for i, p := range policies {
		parts[i] = index.Part{Cluster: p.Cluster, Value: claimOf(p).Value}
		if name := instanceOf(p); !slices.Contains(instances, name) {
			instances = append(instances, name)
		}
	}
	r, err := requestIn(instances, a, needs)
	if err != nil {
		return
	}
	r.Part = claimOf(policies[0])
	s.lister.PrefetchParts(ctx, r, parts, s.thenPrefetch(ctx, needs))
}

// thenPrefetch starts reading what hangs on the workloads of a page.
func (s *Service) thenPrefetch(ctx context.Context, needs Needs) func([]*index.Object) {
	return func(rows []*index.Object) {
		s.prefetch(ctx, rows, needs)
		s.prefetchEvents(ctx, rows, needs)
	}
}

// Wanted is one workload that will be asked for in an instance.
type Wanted struct {
	Kind            Kind
	Namespace, Name string
	Needs           Needs
}

// PrefetchOnes starts reading what Get will be asked for in each instance, and
// what hangs on it.
func (s *Service) PrefetchOnes(ctx context.Context, instances []string, wanted []Wanted) {
	if len(wanted) == 0 {
		return
	}
	var named []Named
	needs := wanted[0].Needs
	for _, w := range wanted {
		needs = needs.and(w.Needs)
		for _, name := range instances {
			named = append(named, Named{Instance: name, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name})
		}
	}
	s.PrefetchNamed(ctx, named, needs)
}

// Named names a workload.
type Named struct {
	Instance        string
	Kind            Kind
	Namespace, Name string
}

// PrefetchNamed starts reading some workloads that Get will be asked for, and what
// hangs on them.
func (s *Service) PrefetchNamed(ctx context.Context, named []Named, needs Needs) {
	if len(named) == 0 {
		return
	}
	keys := make([]index.Key, len(named))
	for i, n := range named {
		keys[i] = keyOf(n.Instance, n.Kind, n.Namespace, n.Name)
	}
	s.lister.Reader.Prefetch(ctx, keys, needs.template(), func(found map[index.Key]*index.Object) {
		s.thenPrefetch(ctx, needs)(slices.Collect(maps.Values(found)))
	})
}

func keyOf(instanceName string, kind Kind, namespace, name string) index.Key {
	return index.Key{Cluster: v1alpha1.VirtualClusterName(instanceName), Type: kind.indexType(), Namespace: namespace, Name: name}
}

// requestIn makes the list inside some instances, each separately.
func requestIn(instances []string, a ListArgs, needs Needs) (listing.Request, error) {
	if f := a.Filter; f != nil && f.Instances != nil && (len(instances) != 1 || !slices.Equal(f.Instances, instances)) {
		return listing.Request{}, apierror.Invalid("filter.instances",
			"Inside one instance this may name that instance only; leave it out, or use the field workloads of Query")
	}
	return a.request(TypeName, instances, needs)
}

// computedAtOnce limits the states that are computed concurrently, so that their reads share
// requests. Most states are in the projection, and not computed at all.
const computedAtOnce = 100

// page makes the page of a result, with what was asked for.
func (s *Service) page(ctx context.Context, result *listing.Result, r listing.Request, needs Needs) *Connection {
	s.prefetchPage(ctx, result.Items, needs)
	// Each workload is as fresh as its own instance, whatever the others are.
	settings := s.settings(ctx, asOf(result.Items))
	made := make(map[*index.Object]Any, len(result.Items))
	for _, o := range result.Items {
		made[o] = newWorkload(settings(instanceOf(o)), o)
	}
	if needs.Status || narrowsHealth(r) {
		s.computeAll(ctx, made)
	}
	if narrowsHealth(r) {
		// What the caller changed themself may be in another state than the projection knew.
		result.Items = slices.DeleteFunc(result.Items, func(o *index.Object) bool {
			status, err := s.Status(ctx, made[o].Base())
			return err == nil && !slices.Contains(r.Projected.Health, string(status.Health))
		})
	}
	c := listing.Connection(result, func(o *index.Object) Any { return made[o] })
	c.WithoutCustom = result.WithoutCustom
	listing.Count(ctx, s.lister, c, r, needs.Facets)
	return c
}

func narrowsHealth(r listing.Request) bool { return r.Projected != nil && r.Projected.Health != nil }

// computeAll computes the states of some workloads. Their fields return the errors.
func (s *Service) computeAll(ctx context.Context, all map[*index.Object]Any) {
	var g errgroup.Group
	g.SetLimit(computedAtOnce)
	for _, w := range all {
		g.Go(func() error {
			_, _ = s.Status(ctx, w.Base())
			return nil
		})
	}
	_ = g.Wait()
}

// instanceOf is the instance of an object that was collected from a virtual cluster.
func instanceOf(o *index.Object) string { return v1alpha1.InstanceOfVirtualCluster(o.Cluster) }
