// Package privilege looks back at what all other suites had Kairship's programs ask of
// the global cluster, where they run with the chart's roles and nothing else: nothing
// may have been refused to them, and every right has to have been used.
package privilege

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
