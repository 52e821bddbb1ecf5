package projector

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// batch is how many changes one Step takes. On SQLite the collector waits while they are
// stored.
const batch = 500

// Projector keeps the projection of a database.
type Projector struct {
	DB  *projection.DB
	Log logr.Logger
	// Metrics count what is done; see NewMetrics.
	Metrics *Metrics
	// Collections returns what the inventory knows of the clusters that the index collects
	// from; nil in tests that set it themselves.
	Collections func(context.Context) ([]projection.Collection, error)
	// CheckInterval is the time between two comparisons of all rows.
	CheckInterval time.Duration
	// Instances returns the instances, for their history; nil in tests without one.
	Instances func(context.Context) ([]Instance, error)
	// HistoryRetention is how long the history is kept, unless an instance says otherwise.
	HistoryRetention time.Duration

	// nextLook is when to look again at what changes rarely.
	nextLook time.Time
	// nextPrune is when to look for what is older than the history is kept.
	nextPrune time.Time
}

// Step deals with the first changes of the outbox, and returns how many there were.
func (p *Projector) Step(ctx context.Context) (taken int, err error) {
	rows := 0
	err = p.DB.Round(ctx, func(s *projection.Snapshot) (*projection.Writes, error) {
		changes, err := s.Pending(batch)
		if err != nil {
			return nil, err
		}
		w, err := dealWith(s, changes)
		if err == nil {
			taken, rows = len(changes), len(w.Workloads)+len(w.GoneWorkloads)
		}
		return w, err
	})
	if err != nil {
		return 0, err
	}
	p.Metrics.rows.Add(float64(rows))
	return taken, nil
}

// dealWith computes what some changes lead to.
func dealWith(s *projection.Snapshot, changes []projection.Change) (*projection.Writes, error) {
	complete, err := s.Rebuilt()
	if err != nil || len(changes) == 0 {
		return &projection.Writes{Complete: complete}, err
	}
	l, err := newLoader(s)
	if err != nil {
		return nil, err
	}
	all, err := concernsOf(s, changes, l.joined)
	if err != nil {
		return nil, err
	}
	w := &projection.Writes{Consequences: all.many, Complete: complete}
	for i := range changes {
		w.Done = append(w.Done, changes[i].ID)
	}
	// The workloads computed here still see the members as they were; those that a change
	// of a member concerns, these included, are computed again.
	if err := l.compareMembers(slices.Collect(maps.Keys(all.members)), w); err != nil {
		return nil, err
	}
	if err := l.observeObjects(changes, w); err != nil {
		return nil, err
	}
	w.Workloads, w.GoneWorkloads, err = l.evaluateAll(slices.Collect(maps.Keys(all.workloads)))
	return w, err
}

// compareMembers finds the members whose rows differ from Karmada's objects, and has the
// workloads that this concerns computed again.
func (l *loader) compareMembers(keys []projection.MemberKey, w *projection.Writes) error {
	resources := make([]projection.ResourceKey, len(keys))
	for i, key := range keys {
		resources[i] = resource(v1alpha1.VirtualClusterName(key.Instance), index.MemberClusters, "", key.Name)
		l.missing[resources[i]] = true
	}
	if err := l.load(); err != nil {
		return err
	}
	instances, stored := map[string]bool{}, map[projection.MemberKey]projection.Member{}
	for _, key := range keys {
		if instances[key.Instance] {
			continue
		}
		instances[key.Instance] = true
		rows, err := l.snapshot.Members(key.Instance)
		if err != nil {
			return err
		}
		for _, row := range rows {
			stored[row.MemberKey] = row
		}
	}
	for i, key := range keys {
		row, found := stored[key]
		d := l.objects[resources[i]]
		if d == nil {
			if !found {
				continue
			}
			w.GoneMembers = append(w.GoneMembers, key)
		} else {
			c, ok := d.value.(*clusterv1alpha1.Cluster)
			if d.err != nil || !ok {
				continue
			}
			now := memberRow(key, c)
			if found && len(differing(row, now)) == 0 {
				continue
			}
			w.Members = append(w.Members, now)
		}
		w.Consequences = append(w.Consequences, projection.Affected{Instance: key.Instance, Member: key.Name})
	}
	return nil
}
