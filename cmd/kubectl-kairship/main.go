// Command kubectl-kairship is the plugin of kubectl that asks Kairship about all instances at once, and changes what runs in
// them. It calls the API by Connect, as pkg/client does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kairship-io/kairship/cmd/internal/buildversion"
	"github.com/kairship-io/kairship/pkg/client"
)

// version is set by the linker in a release: -X main.version=v1.2.3. Other builds read it from the build information.
var version string

// The exit codes, which scripts rely on.
const (
	exitDiffers = 1
	exitFailed  = 2
)

// errDiffers ends a command with another exit code than success: something differs, is not well, or was not reached.
var errDiffers = errors.New("differs")

func main() {
	version = buildversion.Of(version)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := newRoot(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}).ExecuteContext(ctx)
	stop()
	os.Exit(exitCode(err))
}

// exitCode reports an error, and returns the exit code.
func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errDiffers):
		return exitDiffers
	}
	fmt.Fprintln(os.Stderr, "error:", describe(err))
	return exitFailed
}

// describe is an error with what to name it by to the administrator.
func describe(err error) string {
	text := err.Error()
	if reason := client.Reason(err); reason != "" {
		text += " (" + reason + ")"
	}
	if id := client.TraceID(err); id != "" {
		text += ", trace " + id
	}
	return text
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	o := newOptions(streams)
	root := &cobra.Command{
		Use: "kubectl-kairship", Short: "Ask about all Karmada instances at once, and change what runs in them",
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kairship"},
		SilenceUsage: true, SilenceErrors: true, Version: version,
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	o.addFlags(root.PersistentFlags())
	root.AddCommand(
		newGet(o), newProblems(o), newWhy(o), newTree(o), newLogs(o), newApply(o), newDiff(o), newPreview(o),
		newRollout(o), newMove(o), newWait(o), newLogin(o), newKubeconfig(o),
	)
	return root
}
