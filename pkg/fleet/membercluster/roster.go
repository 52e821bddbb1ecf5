package membercluster

import (
	"context"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
)

// rosterLife is how long the members of an instance are remembered. Karmada
// itself takes tens of seconds to call a member down, so two more seconds are
// no news lost; and the objects are large, because each lists every API that
// the member serves.
const rosterLife = 2 * time.Second

// rosterBatch is how many members are read at a time.
const rosterBatch = 500

// Lister is what the roster needs of the index.
type Lister interface {
	List(ctx context.Context, q index.ListQuery) (*index.Page, error)
}

// Roster knows the members of every instance, briefly. Each instance's members
// are kept apart, so nothing of one is ever seen through another.
type Roster struct {
	index Lister
	now   func() time.Time

	mu      sync.Mutex
	entries map[string]rosterEntry
}

type rosterEntry struct {
	members map[string]*clusterv1alpha1.Cluster
	until   time.Time
}

// NewRoster makes a Roster.
func NewRoster(index Lister, now func() time.Time) *Roster {
	return &Roster{index: index, now: now, entries: map[string]rosterEntry{}}
}

// Members returns the members of each instance by name. However many instances
// are asked for, those that are not remembered cost one request.
func (r *Roster) Members(ctx context.Context, instances ...string) (map[string]map[string]*clusterv1alpha1.Cluster, error) {
	result := make(map[string]map[string]*clusterv1alpha1.Cluster, len(instances))
	q := index.ListQuery{Types: []index.Type{index.MemberClusters}, Order: index.Order{Field: index.OrderByName}, Limit: rosterBatch}
	read := map[string]map[string]*clusterv1alpha1.Cluster{}
	now := r.now()
	r.mu.Lock()
	for _, name := range instances {
		if e, ok := r.entries[name]; ok && now.Before(e.until) {
			result[name] = e.members
			continue
		}
		if _, dup := read[name]; !dup {
			read[name] = map[string]*clusterv1alpha1.Cluster{}
			q.Clusters = append(q.Clusters, v1alpha1.VirtualClusterName(name))
		}
	}
	r.mu.Unlock()
	if len(read) == 0 {
		return result, nil
	}
	byCluster := make(map[string]map[string]*clusterv1alpha1.Cluster, len(read))
	for name, members := range read {
		byCluster[v1alpha1.VirtualClusterName(name)] = members
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
			byCluster[o.Cluster][o.Meta.Name] = c
		}
		if !page.HasNext {
			break
		}
		last := index.PositionOf(page.Items[len(page.Items)-1])
		q.After = &last
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, members := range read {
		r.entries[name] = rosterEntry{members: members, until: now.Add(rosterLife)}
		result[name] = members
	}
	r.dropExpired(now)
	return result, nil
}

// dropExpired forgets instances that nobody asks about any more.
func (r *Roster) dropExpired(now time.Time) {
	for name, e := range r.entries {
		if now.After(e.until.Add(time.Minute)) {
			delete(r.entries, name)
		}
	}
}
