// Package cli is the fleet's command line.
package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairship-io/kairship/deploy/local/internal/fleet"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// options are the flags that all commands share.
type options struct {
	dir             string
	portBase        int
	db              string
	withoutKairship bool
	operator        bool
	pediaClusters   bool
}

// Command is the root of the command line.
func Command() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:           "local",
		Short:         "Run the whole fleet on this machine",
		Long:          "Runs Karmada control planes, member clusters, the index and Kairship as processes on loopback.",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			// Processes are recognised and ports attributed by what /proc reports about them.
			if runtime.GOOS != "linux" {
				return fmt.Errorf("the local fleet runs on Linux only, not on %s", runtime.GOOS)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&o.dir, "dir", ".local", "folder of the fleet: its data, logs, credentials")
	root.AddCommand(upCommand(&o), runCommand(&o), withCommand(&o), downCommand(&o), statusCommand(&o), logsCommand(&o), buildCommand(&o),
		startCommand(&o), restartCommand(&o), killCommand(&o))
	return root
}

// addSettings adds the flags that decide what the fleet is. Those not given keep what the fleet was
// last started with.
func addSettings(cmd *cobra.Command, o *options) {
	defaults := fleet.DefaultSettings()
	flags := cmd.Flags()
	flags.IntVar(&o.portBase, "port-base", defaults.PortBase, fmt.Sprintf("first of the %d ports of the fleet; with the default one Kairship listens on 8080", topology.PortSpan))
	flags.StringVar(&o.db, "db", defaults.DB, "database of the index: sqlite or postgres")
	flags.BoolVar(&o.withoutKairship, "without-kairship", false, "leave Kairship's own processes out")
	flags.BoolVar(&o.operator, "operator", false, "run the Karmada operator, for Managed instances")
	flags.BoolVar(&o.pediaClusters, "pediaclusters", false, "with --without-kairship: register the clusters with the index, as Kairship's controllers would")
}

// flags are the settings that were given on this command line.
func (o *options) flags(cmd *cobra.Command) fleet.Flags {
	var given fleet.Flags
	if cmd.Flags().Changed("port-base") {
		given.PortBase = &o.portBase
	}
	if cmd.Flags().Changed("db") {
		given.DB = &o.db
	}
	if cmd.Flags().Changed("without-kairship") {
		given.WithoutKairship = &o.withoutKairship
	}
	if cmd.Flags().Changed("operator") {
		given.Operator = &o.operator
	}
	if cmd.Flags().Changed("pediaclusters") {
		given.PediaClusters = &o.pediaClusters
	}
	return given
}

// open describes the fleet that the flags name.
func (o *options) open(cmd *cobra.Command) (*fleet.Fleet, error) {
	dir, err := o.folder()
	if err != nil {
		return nil, err
	}
	return fleet.Open(dir, o.flags(cmd), cmd.OutOrStdout())
}

// folder is the fleet's. A relative one belongs to the repository, wherever in it the command is given.
func (o *options) folder() (string, error) {
	if filepath.IsAbs(o.dir) {
		return o.dir, nil
	}
	root, err := repository()
	return filepath.Join(root, o.dir), err
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
