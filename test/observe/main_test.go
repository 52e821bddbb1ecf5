// Package observe looks at the fleet as who runs it does: at the traces that its
// programs send to a collector, at their metrics, and at their log.
package observe

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
