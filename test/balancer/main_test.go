// Package balancer replaces replicas of the API server behind a plain TCP balancer
// while people read, write and subscribe: no client may notice more than a stream that
// says "connect again", and no client may miss an event.
package balancer

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
