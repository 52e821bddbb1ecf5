// Package install installs on a real node what the documentation says, in the way that it says: PostgreSQL,
// Clusterpedia, the Karmada operator and Kairship's chart, each as pods.
package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/real/internal/node"
)

// Namespaces of what is installed.
const (
	System            = "kairship-system"
	indexNamespace    = "clusterpedia-system"
	databaseNamespace = "database"
)

// stepPatience is how long one step may take.
const stepPatience = 5 * time.Minute

// operatorStep begins the name of the step that installs the operator, which its version ends.
const operatorStep = "karmada-operator "

// scriptDelay is how long what a script has started may hold its output when the script was ended.
const scriptDelay = 5 * time.Second

// Installer carries out the steps, each once.
type Installer struct {
	Node *node.Node
	// Source is the folder with the Kairship to install: its chart and its documentation.
	Source string
	// Helm and Images are what the steps need beside the node's programs.
	Helm string
	// KairshipTag is the tag of Kairship's images.
	KairshipTag string
	// Values are more files of values for the chart.
	Values []string
	// Karmada is the version of the operator.
	Karmada string
	// Earlier is set when that is not the version of the documentation, but the one before it.
	Earlier bool
	// Bare installs what a cluster needs for pods alone.
	Bare bool
	// Bundled has the chart bring PostgreSQL, Clusterpedia and its certificate, as the quick start does.
	Bundled bool

	client *kube.Client
	state  state
}

// state remembers what is done, and the passwords.
type state struct {
	Done map[string]bool `json:"done"`
	// Tag is that of the images of Kairship that the chart was last installed with.
	Tag       string            `json:"tag"`
	Passwords map[string]string `json:"passwords"`
}

// step is one step of the installation.
type step struct {
	name string
	run  func(context.Context) error
}

// Run carries out the steps that have not been carried out yet, and upgrades Kairship where its images
// have changed.
func (i *Installer) Run(ctx context.Context) error {
	client, err := i.Node.Client()
	if err != nil {
		return err
	}
	i.client = client
	if err := i.load(); err != nil {
		return err
	}
	if i.state.Done["kairship"] && (i.Bare || i.state.Done["postgresql"] == i.Bundled) {
		return errors.New("this node has a Kairship that was installed in another way, with or without --bundled or --member-of, and one does not lead to the other: give the same flags again, or remove the node with `down --purge`")
	}
	for _, s := range i.steps() {
		if i.state.Done[s.name] {
			continue
		}
		if err := i.once(ctx, s); err != nil {
			return err
		}
	}
	if i.Bare || i.state.Tag == i.KairshipTag {
		return nil
	}
	return i.upgrade(ctx)
}

// steps are those of the installation, in their order.
func (i *Installer) steps() []step {
	cluster := []step{{"dns", i.dns}, {"metrics", i.metrics}, {"volumes", i.volumes}}
	if i.Bare {
		return cluster
	}
	kairship := []step{{"postgresql", i.database}, {"clusterpedia", i.clusterpedia}, {"database-roles", i.databaseRoles}, {"kairship", i.kairship}}
	if i.Bundled {
		kairship = []step{{"kairship", i.quickStart}}
	}
	return slices.Concat(cluster, []step{{operatorStep + i.Karmada, i.operator}}, kairship, []step{{"administrator", i.administrator}})
}

func (i *Installer) once(ctx context.Context, s step) error {
	ctx, cancel := context.WithTimeout(ctx, stepPatience)
	defer cancel()
	begun := time.Now()
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("installing %s: %w\n(`make real-down` removes all of it; `make real` goes on from this step)", s.name, err)
	}
	i.Node.Report.Step(s.name, "installed", time.Since(begun))
	i.state.Done[s.name] = true
	return i.save()
}

func (i *Installer) load() error {
	i.state = state{Done: map[string]bool{}, Passwords: map[string]string{}}
	content, err := os.ReadFile(i.Node.Paths.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, &i.state); err != nil {
		return fmt.Errorf("%s is damaged (%w): remove the node with `make real-down`", i.Node.Paths.State(), err)
	}
	return nil
}

func (i *Installer) save() error {
	content, err := json.MarshalIndent(i.state, "", "  ")
	if err != nil {
		return err
	}
	path := i.Node.Paths.State()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// script runs commands as a person would, in a folder, with kubectl and helm on the PATH.
func (i *Installer) script(ctx context.Context, folder, text string, variables map[string]string) error {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = folder
	cmd.WaitDelay = scriptDelay
	cmd.Env = append(os.Environ(),
		"PATH="+i.Node.Paths.Bin()+":"+filepath.Dir(i.Helm)+":"+os.Getenv("PATH"),
		"KUBECONFIG="+i.Node.Paths.Kubeconfig(),
		// Without the settings of the user who runs this.
		"HELM_CONFIG_HOME="+filepath.Join(folder, "helm"), "HELM_CACHE_HOME="+filepath.Join(folder, "helm"), "HELM_DATA_HOME="+filepath.Join(folder, "helm"),
	)
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w (in %s)\n%s\nof the commands\n%s", err, folder, indent(string(out)), indent(text))
	}
	return nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// folder makes a folder for the files that the documentation has written.
func (i *Installer) folder(name string, files map[string]string) (string, error) {
	dir := i.Node.Paths.Work(name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
