// Package escalation attacks a running fleet: people with a role try to reach further
// than it says, in Kairship, in an instance and in the members. Every attack has to be
// refused with its reason, and nothing of it may arrive. What the same people may do is
// tried beside it.
package escalation

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
