package instanceproxy

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Bounds of discovery.
const (
	discoveryTimeout = 15 * time.Second
	// rediscoverAfter is the time between two looks for kinds that are not there.
	// Asking for a kind that never was must not cost a discovery each time.
	rediscoverAfter = 2 * time.Second
)

// discoveryCache caches the discovery of an instance. client-go's own caches hold a lock while they
// ask; here a caller can stop waiting.
type discoveryCache struct {
	life   context.Context //nolint:containedctx // It is the instance's lifetime, not a request's.
	client discovery.DiscoveryInterface
	age    time.Duration
	known  atomic.Pointer[cachedDiscovery]
	// generation counts the calls of forget, so that an answer requested before a call is not kept
	// after it.
	generation atomic.Int64
	flight     singleflight.Group
}

// cachedDiscovery is one discovery, and the mapper that follows from it.
type cachedDiscovery struct {
	Discovery
	mapper meta.RESTMapper
}

func newDiscoveryCache(life context.Context, client discovery.DiscoveryInterface, age time.Duration) *discoveryCache {
	return &discoveryCache{life: life, client: client, age: age}
}

// forget drops the cached discovery, so that the next caller asks the instance.
func (c *discoveryCache) forget() {
	c.generation.Add(1)
	c.known.Store(nil)
}

// get returns a discovery that is at most that old.
func (c *discoveryCache) get(ctx context.Context, age time.Duration) (*cachedDiscovery, error) {
	if known := c.known.Load(); known != nil && time.Since(known.At) < age {
		return known, nil
	}
	result := c.flight.DoChan("", func() (any, error) { return c.ask() })
	select {
	case <-ctx.Done():
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "the instance did not say in time what it serves; try again")
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*cachedDiscovery), nil
	}
}

// discovery returns the Discovery of an instance that is at most that old.
func (c *discoveryCache) discovery(ctx context.Context, instance string, age time.Duration) (*Discovery, error) {
	known, err := c.get(ctx, age)
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	return &known.Discovery, nil
}

func (c *discoveryCache) ask() (*cachedDiscovery, error) {
	generation := c.generation.Load()
	at := time.Now()
	ctx, cancel := context.WithTimeout(c.life, discoveryTimeout)
	defer cancel()
	type found struct {
		discovery *cachedDiscovery
		err       error
	}
	answer := make(chan found, 1)
	go func() {
		made, err := discover(c.client, at)
		answer <- found{made, err}
	}()
	select {
	case <-ctx.Done():
		return nil, apierror.Wrap(ctx.Err(), apierror.CodeInstanceUnavailable, "the instance does not say what it serves")
	case f := <-answer:
		if f.err == nil && c.generation.Load() == generation {
			c.known.Store(f.discovery)
		}
		return f.discovery, f.err
	}
}

// discover asks what an instance serves. A group whose own server is down is
// left out, as kubectl does.
func discover(client discovery.DiscoveryInterface, at time.Time) (*cachedDiscovery, error) {
	groups, resources, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	byVersion := map[string]int{}
	for n, list := range resources {
		byVersion[list.GroupVersion] = n
	}
	all := make([]*restmapper.APIGroupResources, 0, len(groups))
	for _, group := range groups {
		one := &restmapper.APIGroupResources{Group: *group, VersionedResources: map[string][]metav1.APIResource{}}
		for _, version := range group.Versions {
			if n, ok := byVersion[version.GroupVersion]; ok {
				one.VersionedResources[version.Version] = resources[n].APIResources
			}
		}
		all = append(all, one)
	}
	return &cachedDiscovery{
		Discovery: Discovery{Groups: groups, Resources: resources, At: at},
		mapper:    restmapper.NewDiscoveryRESTMapper(all),
	}, nil
}

// Discovery implements Client.
func (i *instance) Discovery(ctx context.Context) (*Discovery, error) {
	return i.kinds.discovery(ctx, i.name, i.options.DiscoveryAge)
}

// Rediscover implements Client.
func (i *instance) Rediscover(ctx context.Context) (*Discovery, error) {
	return i.kinds.discovery(ctx, i.name, rediscoverAfter)
}

// RESTMapper implements Client.
func (i *instance) RESTMapper(ctx context.Context) meta.RESTMapper {
	return &mapper{ctx: ctx, kinds: i.kinds}
}

// mapper is a RESTMapper over the discovery cache, for one caller.
type mapper struct {
	ctx   context.Context //nolint:containedctx // meta.RESTMapper's methods take none.
	kinds *discoveryCache
}

var _ meta.RESTMapper = (*mapper)(nil)

// look asks the cached mapper, and a fresh one for kinds that it does not have.
func look[T any](m *mapper, ask func(meta.RESTMapper) (T, error)) (T, error) {
	var zero T
	known, err := m.kinds.get(m.ctx, m.kinds.age)
	if err != nil {
		return zero, err
	}
	found, err := ask(known.mapper)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	fresh, err := m.kinds.get(m.ctx, rediscoverAfter)
	if err != nil {
		return zero, err
	}
	return ask(fresh.mapper)
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(r schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return look(m, func(o meta.RESTMapper) (schema.GroupVersionKind, error) { return o.KindFor(r) })
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(r schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return look(m, func(o meta.RESTMapper) ([]schema.GroupVersionKind, error) { return o.KindsFor(r) })
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(r schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return look(m, func(o meta.RESTMapper) (schema.GroupVersionResource, error) { return o.ResourceFor(r) })
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(r schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return look(m, func(o meta.RESTMapper) ([]schema.GroupVersionResource, error) { return o.ResourcesFor(r) })
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return look(m, func(o meta.RESTMapper) (*meta.RESTMapping, error) { return o.RESTMapping(kind, versions...) })
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return look(m, func(o meta.RESTMapper) ([]*meta.RESTMapping, error) { return o.RESTMappings(kind, versions...) })
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return look(m, func(o meta.RESTMapper) (string, error) { return o.ResourceSingularizer(resource) })
}
