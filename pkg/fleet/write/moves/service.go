// Package moves implements the mutations that move workloads between member clusters, and empty a member
// cluster. They write what is asked for into the objects of the instance; the controller workload-moves does the rest.
package moves

import (
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
)

// Service moves workloads.
type Service struct {
	Writer   *write.Writer
	Members  *members.Service
	Previews *preview.Service
	// Operations makes the IDs under which moves are followed; nil for none.
	Operations *operation.Service
}
