package workload

import (
	"time"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// statusOf is the Status that the projector computed.
func statusOf(state *projection.State) *Status {
	status := &Status{
		Replicas: ReplicaCounts{Desired: state.Desired, Ready: state.Ready, Available: state.Available, Updated: state.Updated},
		Health:   Health(state.Health), Message: state.Message, Suspended: state.Suspended, BindingID: state.BindingID,
		Placements: make([]PlacementStatus, len(state.Placements)),
	}
	for i := range state.Placements {
		p := &state.Placements[i]
		status.Placements[i] = PlacementStatus{
			Cluster: p.Cluster, Scheduled: p.Scheduled, Evicting: p.Evicting, Suspended: p.Suspended, Applied: p.Applied, Stale: p.Stale,
			Desired: p.Desired, Ready: p.Ready, Available: p.Available, Updated: p.Updated, Health: Health(p.Health), Message: p.Message,
		}
	}
	return status
}

// asOf is the moment whose state the projection shows at least of some workloads; zero
// where it shows none.
func asOf(rows []*index.Object) time.Time {
	var at time.Time
	for _, row := range rows {
		if !row.AsOf.IsZero() && (at.IsZero() || row.AsOf.Before(at)) {
			at = row.AsOf
		}
	}
	return at
}
