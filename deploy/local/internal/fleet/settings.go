// Package fleet brings the fleet up, keeps it healthy and takes it down: real components as
// processes on loopback.
package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// The databases that the index can use.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Settings is what a fleet is started with. They are remembered, so that a later `up` needs no flags.
type Settings struct {
	PortBase int    `json:"portBase"`
	DB       string `json:"db"`
	// WithoutKairship leaves Kairship's own processes out.
	WithoutKairship bool `json:"withoutKairship"`
	// Operator runs the Karmada operator beside Kairship, for Managed instances.
	Operator bool `json:"operator"`
	// PediaClusters makes the fleet register its clusters with the index itself, which is otherwise
	// the work of Kairship's controllers.
	PediaClusters bool `json:"pediaClusters"`
	// Provider is the folder of the OpenID Connect provider at which people sign in; empty where it was
	// not installed when the fleet came up.
	Provider string `json:"provider,omitempty"`
}

// Flags are the settings given on the command line; nil means not given.
type Flags struct {
	PortBase        *int
	DB              *string
	WithoutKairship *bool
	Operator        *bool
	PediaClusters   *bool
}

// DefaultSettings is a fleet without any flag.
func DefaultSettings() Settings {
	return Settings{PortBase: topology.DefaultPortBase, DB: SQLite}
}

// resolve joins the flags with what is remembered of the fleet.
func resolve(remembered *Settings, flags Flags) (Settings, error) {
	settings := DefaultSettings()
	if remembered != nil {
		settings = *remembered
	}
	set(&settings.PortBase, flags.PortBase)
	set(&settings.DB, flags.DB)
	set(&settings.WithoutKairship, flags.WithoutKairship)
	set(&settings.Operator, flags.Operator)
	set(&settings.PediaClusters, flags.PediaClusters)

	if !settings.WithoutKairship {
		if flags.PediaClusters != nil && *flags.PediaClusters {
			return Settings{}, errors.New("--pediaclusters goes with --without-kairship only: Kairship's controllers register the clusters with the index themselves")
		}
		settings.PediaClusters = false
	}
	if settings.DB != SQLite && settings.DB != Postgres {
		return Settings{}, fmt.Errorf("--db %q: want %s or %s", settings.DB, SQLite, Postgres)
	}
	// Every stored object that names an endpoint (webhooks, joined clusters, API services) holds the
	// ports, so a fleet cannot move.
	if remembered != nil && settings.PortBase != remembered.PortBase {
		return Settings{}, fmt.Errorf("--port-base %d: this fleet was set up with %d and cannot move; remove it with `down --purge` first, or use another --dir",
			settings.PortBase, remembered.PortBase)
	}
	return settings, topology.Ports{Base: settings.PortBase}.Validate()
}

func set[T any](value *T, flag *T) {
	if flag != nil {
		*value = *flag
	}
}

// State is what a fleet remembers between runs.
type State struct {
	Settings Settings `json:"settings"`
	// Steps maps a finished set-up step to the hash of what it applied. A step runs again only when
	// that changes, so that a later `up` does not undo what a user did to the fleet.
	Steps map[string]string `json:"steps"`
}

// loadState reads a fleet's state; nil when the folder holds no fleet.
func loadState(paths topology.Paths) (*State, error) {
	content, err := os.ReadFile(paths.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var state State
	if err := json.Unmarshal(content, &state); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove the fleet with `down --purge`", paths.State(), err)
	}
	return &state, nil
}

func (s State) save(paths topology.Paths) error {
	return writeJSON(paths.State(), s)
}

// writeJSON replaces a file in one step, so that a reader never sees half of it.
func writeJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
