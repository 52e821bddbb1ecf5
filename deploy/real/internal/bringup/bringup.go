// Package bringup brings a real node up: it builds its parts, starts it, imports its images, installs what the
// documentation says, and makes an instance with a member and an application.
package bringup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/postgres"
	"github.com/kairship-io/kairship/deploy/real/internal/images"
	"github.com/kairship-io/kairship/deploy/real/internal/install"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
)

// Bringup is what is to be brought up.
type Bringup struct {
	Node *node.Node
	// Values are more files of values for the chart.
	Values []string
	// Bundled has the chart bring what it needs beside it.
	Bundled bool
	// Earlier begins with the release of Karmada before the one that Kairship is tested with; UpgradeOperator goes on
	// from there with the operator of the latter.
	Earlier, UpgradeOperator bool
	// Empty leaves the instance, the member and the application out.
	Empty bool
	// Source is the folder with the Kairship to install: its programs, its chart and its documentation.
	Source string
	// MemberOf is the folder of a process fleet whose instance the node becomes a member of, without a Kairship of its own;
	// empty for none.
	MemberOf string
	// External is the folder of a process fleet whose instances are registered; empty for none.
	External string

	manifests map[string]string
	binaries  map[string]string
	karmada   string // its version
	helm      string // the path of the program
}

// Run does all of it. What is done already is left as it is.
func (b *Bringup) Run(ctx context.Context) error {
	begun := time.Now()
	helm, set, err := b.build(ctx)
	if err != nil {
		return err
	}
	b.Node.Report.Step("parts", "built", time.Since(begun))
	if err := b.Node.Start(ctx); err != nil {
		return err
	}
	importing := time.Now()
	imported, err := images.Import(ctx, b.Node, set)
	if err != nil {
		return err
	}
	b.Node.Report.Step("images", fmt.Sprintf("%d of %d imported", imported, len(set.Images)), time.Since(importing))
	if err := b.Node.AwaitReady(ctx); err != nil {
		return err
	}
	b.Node.Report.Sayf("%-32s Ready", "node "+node.Name)
	installer := &install.Installer{Node: b.Node, Source: b.Source, Helm: helm, KairshipTag: set.KairshipTag, Values: b.Values, Bare: b.MemberOf != "", Bundled: b.Bundled, Karmada: b.karmada, Earlier: b.Earlier && !b.UpgradeOperator}
	if err := installer.Run(ctx); err != nil {
		return err
	}
	if b.MemberOf != "" {
		return b.memberOf(ctx)
	}
	if err := b.describe(ctx); err != nil {
		return err
	}
	if err := b.external(ctx); err != nil {
		return err
	}
	if b.Empty {
		return nil
	}
	return b.sample(ctx)
}

// build makes sure of everything that is compiled, and of this machine's programs.
func (b *Bringup) build(ctx context.Context) (helm string, set images.Set, err error) {
	n := b.Node
	cache, err := build.CacheRoot()
	if err != nil {
		return "", set, err
	}
	if err := node.CheckVisible("the cache of built components", cache); err != nil {
		return "", set, err
	}
	display := build.NewDisplay(os.Stdout)
	defer display.Close()
	if err := node.EnsureTools(ctx, display); err != nil {
		return "", set, err
	}
	database, err := postgres.Ensure(ctx, display)
	if err != nil {
		return "", set, err
	}
	modules := append(build.Fleet(), build.Node()...)
	if b.Earlier {
		modules = append(modules, build.EarlierKarmada())
	}
	result, err := build.Components(ctx, build.Options{Repository: n.Repository, CacheRoot: cache, Modules: modules, Progress: display})
	if err != nil {
		return "", set, err
	}
	if err := build.Link(result, n.Paths.Bin()); err != nil {
		return "", set, err
	}
	b.manifests, b.binaries = result.Manifests, result.Binaries
	if helm, err = build.Helm(ctx, n.Repository); err != nil {
		return "", set, err
	}
	b.helm = helm
	sources, err := b.sources(ctx)
	if err != nil {
		return "", set, err
	}
	sources.Postgres = database
	set, err = images.New(ctx, sources)
	return helm, set, err
}

// sources builds this repository's programs and says where everything is.
func (b *Bringup) sources(ctx context.Context) (images.Sources, error) {
	n := b.Node
	s := images.Sources{
		Binaries: b.binaries, CRDs: b.manifests["karmada/crds"],
		Pause: n.Paths.Binary("pause"), APIServer: n.Paths.Binary("kairship-apiserver"), ControllerManager: n.Paths.Binary("kairship-controller-manager"),
	}
	for _, command := range [][]string{
		{b.Source, "hack/static.sh", "apiserver", "", s.APIServer},
		{b.Source, "hack/static.sh", "controller-manager", "", s.ControllerManager},
		{n.Repository, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", s.Pause, "./deploy/real/pause"},
	} {
		cmd := exec.CommandContext(ctx, command[1], command[2:]...)
		cmd.Dir = command[0]
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return s, fmt.Errorf("%s in %s: %w\n%s", strings.Join(command[1:], " "), command[0], err, strings.TrimSpace(string(out)))
		}
	}
	var err error
	if s.Karmada, err = required(n.Repository, "deploy/real/components/node", "github.com/karmada-io/karmada"); err != nil {
		return s, err
	}
	if s.Clusterpedia, err = required(n.Repository, "deploy/local/components/clusterpedia", "github.com/clusterpedia-io/clusterpedia"); err != nil {
		return s, err
	}
	b.karmada = s.Karmada
	s.CRDsURL = fmt.Sprintf(conversion.ReleaseURL, s.Karmada)
	if b.Earlier {
		earlier, err := required(n.Repository, "deploy/real/components/karmada-earlier", "github.com/karmada-io/karmada")
		if err != nil {
			return s, err
		}
		s.Earlier = &images.Earlier{Version: earlier, CRDs: b.manifests["karmada-earlier/crds"], CRDsURL: fmt.Sprintf(conversion.ReleaseURL, earlier)}
		if !b.UpgradeOperator {
			b.karmada = earlier
		}
	}
	return s, nil
}

func required(repository, folder, module string) (string, error) {
	return build.RequiredVersion(filepath.Join(repository, filepath.FromSlash(folder), "go.mod"), module)
}
