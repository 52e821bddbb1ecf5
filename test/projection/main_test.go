// Package projection compares the projection with what the API answers, while workloads
// are deployed, changed and deleted, and while the projector is killed.
package projection

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
