package truth

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
