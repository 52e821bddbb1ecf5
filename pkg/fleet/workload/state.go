package workload

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// isStateOf reports whether the projection has the state of this version of a template. What
// an instance said itself is no version that is stored when it is the result of a dry run.
func isStateOf(state *index.State, template *index.Object) bool {
	_, live := template.Live()
	return !live && state != nil && state.UID == string(template.Meta.UID) && state.ResourceVersion == template.Meta.ResourceVersion
}

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

// clusters are those of all placements.
func (s *Status) clusters() []string {
	names := make([]string, len(s.Placements))
	for i := range s.Placements {
		names[i] = s.Placements[i].Cluster
	}
	return names
}

// asOf is the moment whose state the projection shows at least of some workloads; zero
// where it shows none.
func (s *Service) asOf(ctx context.Context, rows []*index.Object, needs Needs) time.Time {
	var asOf time.Time
	if !needs.Status {
		return asOf
	}
	for _, row := range rows {
		// Fields tell errors.
		if state, err := s.lister.Reader.StateOf(ctx, templateKey(row)); err == nil && isStateOf(state, row) && (asOf.IsZero() || state.AsOf.Before(asOf)) {
			asOf = state.AsOf
		}
	}
	return asOf
}
