// Package proxy tests the native passthrough against a running fleet, with the
// clients that people use: the real kubectl, client-go's informers, and plain
// HTTP. Some tests stop or kill an instance's API server; they leave the fleet as
// they found it.
package proxy

import (
	"fmt"
	"os"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(bareProxy); kubeconfig != "" {
		fmt.Fprintln(os.Stderr, beBare(kubeconfig, os.Getenv(bareProxy+"_CERTIFICATE")))
		os.Exit(1)
	}
	os.Exit(fleet.Main(m))
}
