// Command kairship-controller-manager keeps the custom resources of Kairship and
// what is made from them true. Several replicas may run; one of them works.
package main

//go:generate go test -run ^TestSettings$ . -update

import (
	"errors"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kairship-io/kairship/cmd/internal/buildversion"
	"github.com/kairship-io/kairship/cmd/internal/flags"
)

// version is set by the linker in a release: -X main.version=v1.2.3. Other builds read it from the build information.
var version string

func main() {
	version = buildversion.Of(version)
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, flags.ErrPrinted):
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	options, err := parse(args, os.Environ(), os.Stdout)
	if err != nil {
		return err
	}
	return serve(ctrl.SetupSignalHandler(), options)
}
