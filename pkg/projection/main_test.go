package projection_test

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

func TestMain(m *testing.M) { projectiontest.Main(m) }
