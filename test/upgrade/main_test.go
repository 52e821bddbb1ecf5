// Package upgrade replaces the programs of a release by those of the working tree, and these by
// those of the release again, while clients read and write. `make test-upgrade` runs it.
package upgrade

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
