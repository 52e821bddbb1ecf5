// Package bindings tests, against a running fleet, that an InstanceRoleBinding
// does what it says: in the global cluster and in real Karmada control planes,
// when its rules are changed, when it is taken back, and while an
// instance cannot be reached.
//
// It gives roles to users of its own, and leaves nothing behind.
package bindings

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
