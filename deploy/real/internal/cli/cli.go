// Package cli is the command line of the real node.
package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/deploy/internal/report"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// options are the flags that all commands share.
type options struct {
	dir     string
	network string
	values  []string
	empty   bool
	bundled bool
	earlier bool
	// upgradeOperator is set to go on from the earlier Karmada.
	upgradeOperator bool
	// external is the folder of a process fleet.
	external string
	// memberOf is the folder of a process fleet.
	memberOf string
	// source is the folder with the Kairship to install.
	source string
}

// Command is the root of the command line.
func Command() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:           "real",
		Short:         "Run a real one-node cluster with Kairship on this machine",
		Long:          "Runs a kubelet, containers and a control plane in namespaces of their own, and installs PostgreSQL, Clusterpedia, the Karmada operator and Kairship by the documented steps.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&o.dir, "dir", ".real", "folder of the node: its data, logs, credentials")
	root.PersistentFlags().StringVar(&o.network, "network", node.DefaultNetwork, "network between this machine and the node; four addresses of it are used")
	root.AddCommand(upCommand(&o), withCommand(&o), downCommand(&o), killCommand(&o), startCommand(&o), leftoversCommand(), superviseCommand(), forwardCommand())
	return root
}

// addSettings adds the flags that decide what is installed.
func addSettings(cmd *cobra.Command, o *options) {
	cmd.Flags().StringArrayVar(&o.values, "values", nil, "a file with more values for the chart; may be given several times")
	cmd.Flags().StringVar(&o.external, "external", "", "the folder of a process fleet that is up without Kairship's own processes: its instances are registered")
	cmd.Flags().StringVar(&o.memberOf, "member-of", "", "the folder of a process fleet: the node becomes a member of its instance alpha, and no Kairship is installed on it")
	cmd.Flags().StringVar(&o.source, "kairship", "", "the folder with the Kairship to install, such as that of another release; this clone unless given")
	cmd.Flags().BoolVar(&o.earlier, "earlier-karmada", false, "begin with the release of Karmada before the one that Kairship is tested with")
	cmd.Flags().BoolVar(&o.upgradeOperator, "upgrade-operator", false, "with --earlier-karmada: upgrade the operator from that release")
	cmd.Flags().BoolVar(&o.bundled, "bundled", false, "have Kairship's chart bring PostgreSQL, Clusterpedia and a certificate, as the quick start does")
	cmd.Flags().BoolVar(&o.empty, "empty", false, "install Kairship alone, without an instance, a member and an application")
	for _, other := range []string{"values", "external", "kairship", "earlier-karmada", "upgrade-operator", "bundled", "empty"} {
		cmd.MarkFlagsMutuallyExclusive("member-of", other) // They are about the Kairship that is not installed then.
	}
}

// open describes the node that the flags name.
func (o *options) open(cmd *cobra.Command) (*node.Node, error) {
	if err := node.CheckMachine(); err != nil {
		return nil, err
	}
	network, err := node.ParseNetwork(o.network)
	if err != nil {
		return nil, err
	}
	repository, err := repository()
	if err != nil {
		return nil, err
	}
	dir := o.dir
	if !filepath.IsAbs(dir) { // It belongs to the repository, wherever in it the command is given.
		dir = filepath.Join(repository, dir)
	}
	if err := node.CheckVisible("the folder of the node", dir); err != nil {
		return nil, err
	}
	return &node.Node{Paths: node.Paths{Root: dir}, Network: network, Repository: repository, Report: report.New(cmd.OutOrStdout())}, nil
}

// repository finds the root of the clone above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/kairship-io/kairship\n") {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("not inside a clone of the repository: change to its folder first")
	}
}

func downCommand(o *options) *cobra.Command {
	purge := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the node and remove its mounts, interfaces and cgroups; its folder stays for the next up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := o.open(cmd)
			if err != nil {
				return err
			}
			if !n.Exists() {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "there is no node in", n.Paths.Root)
				return err
			}
			return down(cmd.Context(), n, purge)
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove the node's folder, with all its data")
	return cmd
}

func killCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "kill",
		Short: "End the whole node at once, as a power cut would; up starts it again with what it had",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := o.open(cmd)
			if err != nil {
				return err
			}
			if err := n.Kill(cmd.Context()); err != nil {
				return err
			}
			n.Report.Sayf("the node and everything in it is killed")
			return nil
		},
	}
}

func startCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Start a node again that was killed, with what it had",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n, err := o.open(cmd)
			if err != nil {
				return err
			}
			if !n.Exists() {
				return fmt.Errorf("there is no node in %s; `up` makes one", n.Paths.Root)
			}
			if err := n.Start(cmd.Context()); err != nil {
				return err
			}
			return n.AwaitReady(cmd.Context())
		},
	}
}

func leftoversCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "leftovers",
		Short: "Print the mounts, interfaces, routes, packet filter rules and cgroups of this machine, to compare before and after",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := node.CheckMachine(); err != nil {
				return err
			}
			lines, err := node.Traces(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(lines, "\n"))
			return err
		},
	}
}

func forwardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "forward ADDRESS PORTS",
		Short:  "Let pods reach ports of this machine's loopback address",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE:   func(cmd *cobra.Command, args []string) error { return node.Forward(cmd.Context(), args[0], args[1]) },
	}
}

func superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "supervise PLAN",
		Short:  "Be the first process of a node",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return node.Supervise(args[0]) },
	}
}
