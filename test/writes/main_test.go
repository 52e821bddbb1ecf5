// Package writes tests the mutations on a running fleet: what they store, what the
// member clusters make of it, and what is refused.
package writes

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) {
	code := fleet.Main(m)
	if code == 0 && os.Getenv(fleet.Variable) != "" {
		code = checkRecord()
	}
	os.Exit(code)
}
