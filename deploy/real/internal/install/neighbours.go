package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/real/internal/images"
)

// neighbour is what docs/operations.md has installed beside Kairship from the repository of a release: the
// module that Kairship is tested with stands for the clone.
type neighbour struct {
	module, pinnedBy string
	// documented is the version that the page names; that of the module when empty.
	documented string
	// upgrade is set where an earlier release is installed.
	upgrade bool
	// manifests is where the module has them, as in the guide's kustomization.
	manifests string
	files     map[string]string
	changes   []string
	variables map[string]string
}

func (i *Installer) clusterpedia(ctx context.Context) error {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return err
	}
	storage, err := page.block("yaml", "type: postgres", "database: clusterpedia")
	if err != nil {
		return err
	}
	if storage, err = replace(storage, "postgres.example.com", "postgres."+databaseNamespace+".svc"); err != nil {
		return err
	}
	retries, err := page.block("yaml", "recoverableErrCodes")
	if err != nil {
		return err
	}
	return i.neighbour(ctx, page, neighbour{
		module: "github.com/clusterpedia-io/clusterpedia", pinnedBy: "deploy/local/components/clusterpedia", manifests: "clusterpedia/kustomize",
		files: map[string]string{"internalstorage-config.yaml": storage + retries}, changes: []string{"REGISTRY", images.Registry},
		variables: map[string]string{"DB_PASSWORD": i.password("clusterpedia")},
	})
}

func (i *Installer) operator(ctx context.Context) error {
	page, err := readGuide(i.Source, "docs", "operations.md")
	if err != nil {
		return err
	}
	n := neighbour{module: "github.com/karmada-io/karmada", pinnedBy: "deploy/real/components/node", manifests: "karmada/operator/config"}
	for done := range i.state.Done {
		n.upgrade = n.upgrade || strings.HasPrefix(done, operatorStep)
	}
	if i.Earlier {
		documented, err := build.RequiredVersion(filepath.Join(i.Node.Repository, filepath.FromSlash(n.pinnedBy), "go.mod"), n.module)
		if err != nil {
			return err
		}
		n.pinnedBy, n.documented, n.changes = "deploy/real/components/karmada-earlier", documented, []string{documented, i.Karmada}
	}
	return i.neighbour(ctx, page, n)
}

// neighbour carries out the guide's commands in a folder with its kustomization.
func (i *Installer) neighbour(ctx context.Context, page guide, n neighbour) error {
	source, version, err := build.ModuleFolder(ctx, i.Node.Repository, n.pinnedBy, n.module)
	if err != nil {
		return err
	}
	kustomization, err := page.block("yaml", "kind: Kustomization", "- "+n.manifests+"/")
	if err != nil {
		return err
	}
	if kustomization, err = replace(kustomization, n.changes...); err != nil {
		return err
	}
	if n.documented != "" {
		version = n.documented
	}
	clone := "git clone --depth 1 --branch " + version + " https://" + n.module
	commands, err := page.block("sh", clone)
	if err != nil {
		return err
	}
	files := map[string]string{"kustomization.yaml": kustomization}
	maps.Copy(files, n.files)
	name := filepath.Base(n.module)
	folder, err := i.folder(name, files)
	if err != nil {
		return err
	}
	target := filepath.Join(folder, filepath.FromSlash(n.manifests))
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	if err := os.CopyFS(target, os.DirFS(filepath.Join(source, filepath.FromSlash(n.manifests[len(name)+1:])))); err != nil {
		return fmt.Errorf("copying the manifests of %s: %w", n.module, err)
	}
	commands = withoutLines(commands, "git clone ")
	if n.upgrade {
		commands = withoutLines(commands, "kubectl create namespace ")
	}
	return i.script(ctx, folder, commands, n.variables)
}
