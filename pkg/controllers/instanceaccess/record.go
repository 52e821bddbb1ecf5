package instanceaccess

import (
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/projection"
)

// wrote notes that a grant was written or removed, unless that failed. Those that all editors of the instance share are of no
// binding.
func (s *scope) wrote(g *grant, err error) error {
	if name := g.labels[v1alpha1.RoleBindingLabel]; err == nil && name != "" {
		if s.changed == nil {
			s.changed = map[string]bool{}
		}
		s.changed[name] = true
	}
	return err
}

// boundNow are the bindings that have grants in the instance.
func (s *scope) boundNow() map[string]bool {
	bound := map[string]bool{}
	for _, g := range s.grants {
		bound[g.labels[v1alpha1.RoleBindingLabel]] = true
	}
	return bound
}

// record records the bindings whose grants changed, one change for each binding.
func (s *scope) record(to activity.Recorder) {
	now := s.boundNow()
	for _, name := range slices.Sorted(maps.Keys(s.changed)) {
		verb := projection.ActivityUpdate
		switch {
		case !s.bound[name]:
			verb = projection.ActivityCreate
		case !now[name]:
			verb = projection.ActivityDelete
		}
		to.Record(activity.Role(s.name, string(s.instance.UID), verb, name))
	}
}
