package timeline

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

// mostTransitions is how many entries an availability is computed from at most.
const mostTransitions = 2000

// Availability is for how much of a time something was healthy.
type Availability struct {
	// From and To are the beginning and the end of the time that was observed; equal when none was.
	From, To time.Time
	// Observed is for how long it was there in that time, Healthy for how long it was healthy.
	Observed, Healthy time.Duration
}

// Ratio is the healthy part of the time; nil when none was observed.
func (a *Availability) Ratio() *float64 {
	if a.Observed <= 0 {
		return nil
	}
	ratio := a.Healthy.Seconds() / a.Observed.Seconds()
	return &ratio
}

// HealthySeconds is for how long it was healthy.
func (a *Availability) HealthySeconds() float64 { return a.Healthy.Seconds() }

// ObservedSeconds is for how long it was observed.
func (a *Availability) ObservedSeconds() float64 { return a.Observed.Seconds() }

// ClusterAvailability is that in one member cluster.
type ClusterAvailability struct {
	Availability

	ClusterName string
}

// WorkloadAvailability is that of a workload, and of its parts.
type WorkloadAvailability struct {
	Availability

	// Clusters are the member clusters that it was in at some time, by name. The time in a cluster is that in
	// which the workload was there.
	Clusters []ClusterAvailability
}

// Availability returns for how much of the time from one moment to another a workload was healthy. A nil to stands
// for now.
func (s *Service) Availability(ctx context.Context, w *workload.Workload, beside []projection.ObjectKey, health func(context.Context) (*workload.Status, error), from time.Time, to *time.Time) (*WorkloadAvailability, error) {
	now := s.Now()
	if to == nil || to.After(now) {
		to = &now
	}
	if !from.Before(*to) {
		return nil, apierror.Invalid("from", "The range is empty: `from` must be in the past and before `to`")
	}
	found, err := s.read(ctx, KeyOfWorkload(w), beside, &projection.HistoryRange{
		Changes: []projection.HistoryChange{projection.HealthChanged, projection.Created, projection.Disappeared}, From: seconds(&from), Limit: mostTransitions,
	})
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	status, err := health(ctx)
	if err != nil {
		return nil, err
	}
	current := map[string]string{"": string(status.Health)}
	for i := range status.Placements {
		current[status.Placements[i].Cluster] = string(status.Placements[i].Health)
	}
	begin := later(from, later(found.since, w.CreatedAt()))
	if n := len(found.Entries); found.HasNext {
		begin = later(begin, moment(found.Entries[n-1].At)) // What was before is not read.
	}
	return available(found.Entries, current, begin, *to, now), nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// available computes the availability from the states now, by member cluster, and the entries that lead to them, the
// latest first. The empty name stands for the whole workload. A state that is empty is none: the workload was
// not there.
func available(entries []projection.HistoryEntry, current map[string]string, from, to, now time.Time) *WorkloadAvailability {
	sums := map[string]*Availability{}
	until := map[string]time.Time{}
	// count adds the time from one moment to the next later one, in which a state was.
	count := func(cluster, state string, begin time.Time) {
		end, known := until[cluster]
		if !known {
			end = now
		}
		until[cluster] = begin
		begin, end = later(begin, from), earlier(end, to)
		if state == "" || !begin.Before(end) {
			return
		}
		if sums[cluster] == nil {
			sums[cluster] = &Availability{To: end}
		}
		sums[cluster].From = begin
		sums[cluster].Observed += end.Sub(begin)
		if state == string(workload.HealthHealthy) {
			sums[cluster].Healthy += end.Sub(begin)
		}
	}
	states := maps.Clone(current)
	for i := range entries {
		e := &entries[i]
		at := moment(e.At)
		switch e.Change {
		case projection.HealthChanged:
			count(e.Cluster, states[e.Cluster], at)
			states[e.Cluster] = e.Before
		default:
			// Before its creation it was not there. Before it disappeared it was, with a health as a whole.
			for cluster, state := range states {
				count(cluster, state, at)
				states[cluster] = ""
			}
			if e.Change == projection.Disappeared {
				states[""] = e.Before
			}
		}
	}
	for cluster, state := range states {
		count(cluster, state, from)
	}
	all := &WorkloadAvailability{Availability: Availability{From: to, To: to}, Clusters: []ClusterAvailability{}}
	if sums[""] != nil {
		all.Availability = *sums[""]
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if name != "" {
			all.Clusters = append(all.Clusters, ClusterAvailability{*sums[name], name})
		}
	}
	return all
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
