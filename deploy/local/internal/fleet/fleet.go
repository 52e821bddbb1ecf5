package fleet

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kairship-io/kairship/deploy/local/internal/build"
	"github.com/kairship-io/kairship/deploy/local/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/pki"
	"github.com/kairship-io/kairship/deploy/local/internal/proc"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// The identities that processes have, each with a client certificate and a kubeconfig.
const (
	// componentIdentity is what the components of a cluster use in their own cluster.
	componentIdentity = "components"
	// adminIdentity is the administrator of a cluster.
	adminIdentity = "admin"
	// apiserverIdentity and controllerIdentity are Kairship's in the global cluster.
	apiserverIdentity  = "kairship-apiserver"
	controllerIdentity = "kairship-controller-manager"
)

// Fleet is one fleet: its folder, its settings and what is known of it.
type Fleet struct {
	paths      topology.Paths
	ports      topology.Ports
	settings   Settings
	repository string
	report     *Report
	records    proc.Records
	postgres   postgres

	manifests map[string]string // build.Result.Manifests
	clients   map[string]*kube.Client

	mu      sync.Mutex
	state   State
	started map[string]*proc.Process // by this program
}

// Open describes the fleet in a folder. It changes nothing.
func Open(dir string, flags Flags, out io.Writer) (*Fleet, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	paths := topology.Paths{Root: root}
	remembered, err := loadState(paths)
	if err != nil {
		return nil, err
	}
	var recorded *Settings
	state := State{Steps: map[string]string{}}
	if remembered != nil {
		state = *remembered
		recorded = &remembered.Settings
	}
	settings, err := resolve(recorded, flags)
	if err != nil {
		return nil, err
	}
	state.Settings = settings
	f := &Fleet{
		paths:    paths,
		ports:    topology.Ports{Base: settings.PortBase},
		settings: settings,
		report:   NewReport(out),
		records:  proc.Records{Dir: paths.PIDs()},
		state:    state,
		clients:  map[string]*kube.Client{},
		started:  map[string]*proc.Process{},
	}
	f.postgres = postgres{fleet: f}
	return f, nil
}

// Exists says whether the folder holds a fleet.
func (f *Fleet) Exists() bool {
	_, err := os.Stat(f.paths.State())
	return err == nil
}

// lock keeps two runs that change this fleet apart.
func (f *Fleet) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(f.paths.Root, 0o755); err != nil {
		return nil, err
	}
	return build.Lock(ctx, f.paths.Lock(), func() {
		f.report.Say("another command is changing this fleet; waiting for it")
	})
}

func (f *Fleet) pki(cluster string) pki.Cluster {
	return pki.Cluster{Dir: f.paths.PKI(cluster)}
}

// connect makes the administrator's clients of all clusters.
func (f *Fleet) connect() error {
	for _, c := range topology.Clusters() {
		client, err := kube.New(c.Name, f.paths.Kubeconfig(c.Name))
		if err != nil {
			return err
		}
		f.clients[c.Name] = client
	}
	return nil
}

// once runs a set-up step unless it was finished before with the same input.
func (f *Fleet) once(step, input string, run func() error) error {
	f.mu.Lock()
	done := f.state.Steps[step] == input
	f.mu.Unlock()
	if done {
		return nil
	}
	begun := time.Now()
	if err := run(); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	f.report.Step(step, "set up", time.Since(begun))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Steps[step] = input
	return f.state.save(f.paths)
}
