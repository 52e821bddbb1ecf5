// Package live tests subscriptions against a running fleet: what is told of each
// noun, that it is true, and who is told.
package live

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
