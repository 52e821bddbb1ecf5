package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/deploy/local/internal/fleet"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

func upCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the fleet in the background, or heal one that runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, root, err := o.openForUp(cmd)
			if err != nil {
				return err
			}
			if err := f.Up(cmd.Context(), root); err != nil {
				return interrupted(err)
			}
			f.PrintWelcome(cmd.Context(), cmd.OutOrStdout(), false)
			return nil
		},
	}
	addSettings(cmd, o)
	return cmd
}

func runCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start the fleet, show how to use it, and stop it on Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, root, err := o.openForUp(cmd)
			if err != nil {
				return err
			}
			return f.Run(cmd.Context(), root, func() {
				f.PrintWelcome(cmd.Context(), cmd.OutOrStdout(), true)
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "\nCtrl-C stops the fleet.")
			})
		},
	}
	addSettings(cmd, o)
	return cmd
}

func withCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "with -- COMMAND [ARGUMENT...]",
		Short: "Run a command against a new fleet, which is removed again; KAIRSHIP_FLEET names its folder",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, root, err := o.openForUp(cmd)
			if err != nil {
				return err
			}
			return f.With(cmd.Context(), root, args, cmd.OutOrStdout())
		},
	}
	addSettings(cmd, o)
	return cmd
}

func (o *options) openForUp(cmd *cobra.Command) (*fleet.Fleet, string, error) {
	root, err := repository()
	if err != nil {
		return nil, "", err
	}
	f, err := o.open(cmd)
	return f, root, err
}

func downCommand(o *options) *cobra.Command {
	purge := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the fleet; its data stays for the next up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := o.open(cmd)
			if err != nil {
				return err
			}
			if !f.Exists() {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "there is no fleet in", o.dir)
				return err
			}
			if purge {
				return f.Purge(cmd.Context())
			}
			return f.Down(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the fleet's folder, with all its data")
	return cmd
}

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the fleet's processes and clusters; exits with 1 unless all are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := o.open(cmd)
			if err != nil {
				return err
			}
			if !f.Exists() {
				return fmt.Errorf("there is no fleet in %s; `up` makes one", o.dir)
			}
			processes, clusters, err := f.Status(cmd.Context())
			if err != nil {
				return err
			}
			if !fleet.PrintStatus(cmd.OutOrStdout(), processes, clusters) {
				return errors.New("not everything is ready; `up` heals the fleet")
			}
			return nil
		},
	}
}

func logsCommand(o *options) *cobra.Command {
	follow, lines := false, 50
	cmd := &cobra.Command{
		Use:   "logs [PROCESS]",
		Short: "Show the end of a process's log, or which logs there are",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.open(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(f.LogNames(), "\n"))
				return err
			}
			return f.Logs(cmd.Context(), cmd.OutOrStdout(), args[0], lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows, until Ctrl-C")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "number of lines to begin with")
	return cmd
}

func buildCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the components into this machine's cache, and link them into the fleet's bin folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := repository()
			if err != nil {
				return err
			}
			dir, err := o.folder()
			if err != nil {
				return err
			}
			result, err := fleet.Build(cmd.Context(), root, topology.Paths{Root: dir})
			if err != nil {
				return interrupted(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d components ready, %d of them built now\n", len(result.Binaries), result.Compiled)
			return err
		},
	}
}

func startCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "start [PROCESS]",
		Short: "Start one process that was killed, or all that do not run; unlike up it does not build Kairship",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, root, err := o.openForUp(cmd)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return interrupted(f.StartOne(cmd.Context(), args[0]))
			}
			if !f.Exists() {
				return fmt.Errorf("there is no fleet in %s; `up` makes one", o.dir)
			}
			return interrupted(f.StartEnded(cmd.Context(), root))
		},
	}
}

func restartCommand(o *options) *cobra.Command {
	return o.processCommand("restart PROCESS", "Stop one process and start it again", func(ctx context.Context, f *fleet.Fleet, name string) error {
		return f.RestartOne(ctx, name)
	})
}

func killCommand(o *options) *cobra.Command {
	hard := false
	cmd := o.processCommand("kill PROCESS", "Send SIGTERM to one process, to see what the rest does", func(_ context.Context, f *fleet.Fleet, name string) error {
		if hard {
			return f.Kill(name, syscall.SIGKILL)
		}
		return f.Kill(name, syscall.SIGTERM)
	})
	cmd.Flags().BoolVarP(&hard, "hard", "9", false, "send SIGKILL instead")
	return cmd
}

// processCommand is a command about one process.
func (o *options) processCommand(use, short string, do func(context.Context, *fleet.Fleet, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.open(cmd)
			if err != nil {
				return err
			}
			return interrupted(do(cmd.Context(), f, args[0]))
		},
	}
}

// interrupted says what Ctrl-C did in words.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; what was started keeps running: `up` goes on from there, `down` stops it")
	}
	return err
}
