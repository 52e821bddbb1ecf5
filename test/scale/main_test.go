// Package scale tests, against a running fleet, that one controller manager copes
// with many instances: it registers aliases of the fleet's control planes, each of
// which presents itself as a control plane of its own.
//
// KAIRSHIP_SCALE says how many, and KAIRSHIP_SCALE_MORE where there is another fleet,
// whose control planes take part too; `make scale` asks for a thousand of four, on two
// cores.
package scale

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // The watch of the test has nothing to tell.
	os.Exit(fleet.Main(m))
}
