// Command kairship-apiserver serves the GraphQL API over all instances. It keeps
// no state: any number of replicas may run. `kairship-apiserver check` asks one that serves.
package main

//go:generate go test -run ^TestSettings$ . -update

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

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
	if len(args) > 0 && args[0] == checkCommand {
		return check(signals.SetupSignalHandler(), args[1:], os.Stdout)
	}
	o, err := parse(args, os.Environ(), os.Stdout)
	if err != nil {
		return err
	}
	return serve(signals.SetupSignalHandler(), o)
}
