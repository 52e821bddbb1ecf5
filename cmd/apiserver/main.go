// Command kairship-apiserver serves the GraphQL API over all instances. It keeps
// no state: any number of replicas may run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/buildversion"
)

// version is set by the linker in a release: -X main.version=v1.2.3. Other builds find out by themselves.
var version string

func main() {
	version = buildversion.Of(version)
	err := run(os.Args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o, err := parse(args, os.Stdout)
	if err != nil {
		return err
	}
	if o.printVersion {
		fmt.Println(program, version)
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return serve(ctx, o)
}
