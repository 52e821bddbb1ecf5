package fleet

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/pki"
	"github.com/kairship-io/kairship/deploy/internal/proc"
	"github.com/kairship-io/kairship/deploy/internal/report"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// The identities that processes have, each with a kubeconfig.
const (
	// componentIdentity is what the components of a cluster use in their own cluster.
	componentIdentity = "components"
	// adminIdentity is the administrator of a cluster.
	adminIdentity = "admin"
	// apiserverIdentity and controllerIdentity are Kairship's in the global cluster: the service
	// accounts that the chart makes.
	apiserverIdentity  = "kairship-apiserver"
	controllerIdentity = "kairship-controller-manager"
)

// Fleet is one fleet: its folder, its settings and what is known of it.
type Fleet struct {
	paths      topology.Paths
	ports      topology.Ports
	flags      Flags
	settings   Settings
	repository string
	report     *report.Report
	records    proc.Records
	postgres   postgres

	manifests map[string]string // build.Result.Manifests
	chart     []*unstructured.Unstructured
	clients   map[string]*kube.Client

	mu       sync.Mutex
	state    State
	launched atomic.Int32 // processes started by this program
}

// Open describes the fleet in a folder. It changes nothing.
func Open(dir string, flags Flags, out io.Writer) (*Fleet, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	paths := topology.Paths{Root: root}
	f := &Fleet{
		paths:   paths,
		flags:   flags,
		report:  report.New(out),
		records: proc.Records{Dir: paths.PIDs()},
		clients: map[string]*kube.Client{},
	}
	f.postgres = postgres{fleet: f}
	return f, f.load()
}

// load reads what is remembered of the fleet, and joins it with the flags.
func (f *Fleet) load() error {
	remembered, err := loadState(f.paths)
	if err != nil {
		return err
	}
	var recorded *Settings
	f.state = State{Steps: map[string]string{}}
	if remembered != nil {
		f.state = *remembered
		recorded = &remembered.Settings
	}
	if f.settings, err = resolve(recorded, f.flags); err != nil {
		return err
	}
	f.state.Settings = f.settings
	f.ports = topology.Ports{Base: f.settings.PortBase}
	return nil
}

// Exists reports whether the folder holds a fleet.
func (f *Fleet) Exists() bool {
	_, err := os.Stat(f.paths.State())
	return err == nil
}

// lock keeps two runs that change this fleet apart.
func (f *Fleet) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = build.Lock(ctx, f.paths.Lock("change"), func() {
		f.report.Sayf("another command is changing this fleet; waiting for it")
	})
	if err != nil {
		return nil, err
	}
	if err := f.load(); err != nil { // the other command may have changed what is remembered
		unlock()
		return nil, err
	}
	return unlock, nil
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

// forget has a step run again.
func (f *Fleet) forget(step string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.state.Steps, step)
}
