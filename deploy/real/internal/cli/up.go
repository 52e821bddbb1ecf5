package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/deploy/real/internal/bringup"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

func upCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the node and install Kairship on it, or go on where an earlier run stopped",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := o.open(cmd)
			if err != nil {
				return err
			}
			unlock, err := n.Lock(cmd.Context())
			if err != nil {
				return err
			}
			defer unlock()
			b, err := o.bringUp(cmd.Context(), n)
			if err != nil {
				return err
			}
			return b.Welcome(cmd.OutOrStdout())
		},
	}
	addSettings(cmd, o)
	return cmd
}

func (o *options) bringUp(ctx context.Context, n *node.Node) (*bringup.Bringup, error) {
	b := &bringup.Bringup{Node: n, Empty: o.empty, Bundled: o.bundled, Earlier: o.earlier, UpgradeOperator: o.upgradeOperator, Source: n.Repository}
	for folder, target := range map[*string]*string{&o.external: &b.External, &o.memberOf: &b.MemberOf, &o.source: &b.Source} {
		if *folder == "" {
			continue
		}
		absolute, err := filepath.Abs(*folder)
		if err != nil {
			return nil, err
		}
		*target = absolute
	}
	for _, file := range o.values {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		b.Values = append(b.Values, absolute)
	}
	if err := b.Run(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, errors.New("interrupted; what was started keeps running: `up` goes on from there, `down` stops it")
		}
		return nil, err
	}
	return b, nil
}

// stopPatience is how long taking a node down may last.
const stopPatience = 2 * time.Minute

func withCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "with -- COMMAND [ARGUMENT...]",
		Short: "Run a command against a new node, which is removed again and may leave no trace; KAIRSHIP_REAL names its folder",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := o.open(cmd)
			if err != nil {
				return err
			}
			unlock, err := n.Lock(cmd.Context())
			if err != nil {
				return err
			}
			defer unlock()
			return o.with(cmd.Context(), n, args, cmd.OutOrStdout())
		},
	}
	addSettings(cmd, o)
	return cmd
}

// with compares what the machine has before and after: a node that leaves something behind is a failure.
func (o *options) with(ctx context.Context, n *node.Node, command []string, out io.Writer) error {
	if n.Exists() {
		n.Report.Sayf("removing what an earlier run left in %s", n.Paths.Root)
		if err := down(ctx, n, true); err != nil {
			return err
		}
	}
	before, err := node.Traces(ctx)
	if err != nil {
		return err
	}
	_, err = o.bringUp(ctx, n)
	if err == nil {
		err = runCommand(ctx, n, command, out)
	}
	// The context may have ended; taking the node down needs one of its own.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	if err != nil {
		n.Report.Sayf("the node's logs are kept in %s", filepath.Dir(n.Paths.Log("node")))
	}
	if stopErr := down(stopping, n, err == nil); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	after, traceErr := node.Traces(stopping)
	if traceErr != nil {
		return errors.Join(err, traceErr)
	}
	if left := node.Compare(before, after); len(left) > 0 {
		return errors.Join(err, fmt.Errorf("the machine is not as it was before:\n%s", strings.Join(left, "\n")))
	}
	n.Report.Sayf("nothing is left: %d mounts, interfaces, routes, rules and cgroups are as before", len(after))
	return err
}

// runCommand runs the command in the foreground.
func runCommand(ctx context.Context, n *node.Node, command []string, out io.Writer) error {
	text := strings.Join(command, " ")
	n.Report.Sayf("running %s", text)
	begun := time.Now()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// Ctrl-C reaches the command directly; it is killed only when it does not end.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), node.Variable+"="+n.Paths.Root)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	n.Report.Sayf("passed after %s", time.Since(begun).Round(100*time.Millisecond))
	return nil
}

func down(ctx context.Context, n *node.Node, purge bool) error {
	begun := time.Now()
	if err := n.Stop(ctx); err != nil {
		return err
	}
	if purge {
		if err := n.Purge(); err != nil {
			return err
		}
	}
	n.Report.Step("node", "stopped, and its mounts, interfaces and cgroups removed,", time.Since(begun))
	return nil
}
