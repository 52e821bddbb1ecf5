package status_test

import (
	"os"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }
