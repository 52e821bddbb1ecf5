package membercluster

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// cacheTTL is how long the members of an instance are cached. Karmada itself takes tens of seconds
// to report a member as not ready, so two more seconds do not matter; and the objects are large,
// because each lists every API that the member serves.
const cacheTTL = 2 * time.Second

// longestOperation bounds how far back an operation may have begun. A longer one, such as a
// subscription, gets members that are at most this much older.
const longestOperation = 10 * time.Second

// cacheBatch is how many members are read at a time.
const cacheBatch = 500

// Lister is the part of the index that Cache needs.
type Lister interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
}

// Cache keeps the members of every instance for cacheTTL. Each instance has its own entry, so no
// member is ever visible through another instance.
type Cache struct {
	index Lister
	now   func() time.Time

	mu      sync.Mutex
	entries map[string]*cacheEntry
}

// cacheEntry holds the members of one instance, or waits for them.
type cacheEntry struct {
	// done is closed when members or err are set.
	done    chan struct{}
	members map[string]*clusterv1alpha1.Cluster
	err     error
	until   time.Time
}

// NewCache makes a Cache.
func NewCache(index Lister, now func() time.Time) *Cache {
	return &Cache{index: index, now: now, entries: map[string]*cacheEntry{}}
}

// Members returns the members of each instance by name. However many instances
// are asked for, those that no caller has or is reading cost one request.
func (r *Cache) Members(ctx context.Context, instances ...string) (map[string]map[string]*clusterv1alpha1.Cluster, error) {
	return r.start(ctx, instances).wait(ctx)
}

// wanted are entries that a caller waits for.
type wanted map[string]*cacheEntry

// start starts reading what is missing or too old.
func (r *Cache) start(ctx context.Context, instances []string) wanted {
	all, mine := r.claim(instances, r.began(ctx))
	requeststats.From(ctx).Look(requeststats.Members, len(all)-len(mine), len(mine))
	if len(mine) > 0 {
		// Others may be waiting for this, so it does not end with this caller. The
		// index client bounds each request.
		go r.fill(context.WithoutCancel(ctx), mine)
	}
	return all
}

// began is when the operation began. What was not too old then is good enough
// until it ends: else what it found once could be too old a moment later, and be
// read again for each instance.
func (r *Cache) began(ctx context.Context) time.Time {
	now := r.now()
	began := requeststats.From(ctx).Began()
	if began.IsZero() || began.After(now) {
		return now
	}
	if earliest := now.Add(-longestOperation); began.Before(earliest) {
		return earliest
	}
	return began
}

func (w wanted) wait(ctx context.Context) (map[string]map[string]*clusterv1alpha1.Cluster, error) {
	result := make(map[string]map[string]*clusterv1alpha1.Cluster, len(w))
	for name, e := range w {
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "The members of %s were not read before the request's deadline", name)
		}
		if e.err != nil {
			return nil, e.err
		}
		result[name] = e.members
	}
	return result, nil
}

// claim finds the entries of some instances, and makes those that are missing
// or were too old when the operation began; the caller has to fill what was made.
func (r *Cache) claim(instances []string, began time.Time) (all, mine map[string]*cacheEntry) {
	all, mine = map[string]*cacheEntry{}, map[string]*cacheEntry{}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range instances {
		e, ok := r.entries[name]
		if !ok || !began.Before(e.until) {
			e = &cacheEntry{done: make(chan struct{}), until: now.Add(cacheTTL)}
			r.entries[name], mine[name] = e, e
		}
		all[name] = e
	}
	for name, e := range r.entries {
		if now.After(e.until.Add(time.Minute)) {
			delete(r.entries, name)
		}
	}
	return all, mine
}

// fill reads the members of some instances.
func (r *Cache) fill(ctx context.Context, entries map[string]*cacheEntry) {
	var (
		members map[string]map[string]*clusterv1alpha1.Cluster
		err     error
	)
	defer func() { r.filled(entries, members, err) }()
	defer func() {
		// It runs in a goroutine of its own, where a panic would end the process.
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while reading the members of instances: %v\n%s", p, debug.Stack())
		}
	}()
	members, err = r.read(ctx, slices.Sorted(maps.Keys(entries)))
}

// filled completes the entries with the result of a read.
func (r *Cache) filled(entries map[string]*cacheEntry, members map[string]map[string]*clusterv1alpha1.Cluster, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, e := range entries {
		e.members, e.err = members[v1alpha1.VirtualClusterName(name)], err
		if err != nil && r.entries[name] == e {
			// An error is returned to the callers that wait, and not cached.
			delete(r.entries, name)
		}
		close(e.done)
	}
}

// read reads the members of some instances, by the index's names of these.
func (r *Cache) read(ctx context.Context, instances []string) (map[string]map[string]*clusterv1alpha1.Cluster, error) {
	q := index.ListQuery{Types: []index.Type{index.MemberClusters}, Order: index.Order{Field: index.OrderByName}, Limit: cacheBatch}
	found := make(map[string]map[string]*clusterv1alpha1.Cluster, len(instances))
	for _, name := range instances {
		cluster := v1alpha1.VirtualClusterName(name)
		q.Clusters = append(q.Clusters, cluster)
		found[cluster] = map[string]*clusterv1alpha1.Cluster{}
	}
	for {
		page, err := r.index.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Items {
			c, err := index.Decode[clusterv1alpha1.Cluster](o)
			if err != nil {
				return nil, err
			}
			found[o.Cluster][o.Meta.Name] = c
		}
		if !page.HasNext {
			return found, nil
		}
		last := index.PositionOf(page.Items[len(page.Items)-1])
		q.After = &last
	}
}
