// Package apitest starts a real kube-apiserver with Kairship's custom resources
// for tests: validation written in CEL can only be tested by the server that
// evaluates it.
package apitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// assetsVariable names the folder with kube-apiserver and etcd.
	assetsVariable = "KUBEBUILDER_ASSETS"
	// requireVariable turns a skip into a failure, for runs that must not skip.
	requireVariable = "KAIRSHIP_REQUIRE_ENVTEST"

	// startPatience is how long a server may take to start, and crdPatience how long
	// until it serves definitions that it has. A busy machine takes its time.
	startPatience = 3 * time.Minute
	crdPatience   = 2 * time.Minute
)

// Option changes the environment before it starts.
type Option func(*envtest.Environment) error

// WithPediaClusters installs the PediaCluster CRD of the Clusterpedia that the
// fleet runs, read from the module that pins it.
func WithPediaClusters() Option {
	return func(env *envtest.Environment) error {
		component := filepath.Join(root(), "deploy", "local", "components", "clusterpedia")
		list := exec.CommandContext(context.Background(), "go", "list", "-mod=mod", "-m", "-f", "{{.Dir}}", "github.com/clusterpedia-io/clusterpedia")
		list.Dir = component
		list.Env = append(os.Environ(), "GOWORK=off")
		out, err := list.Output()
		if err != nil {
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				err = fmt.Errorf("%w: %s", err, exit.Stderr)
			}
			return fmt.Errorf("find the Clusterpedia module pinned in %s: %w", component, err)
		}
		dir := strings.TrimSpace(string(out))
		if dir == "" {
			return fmt.Errorf("the Clusterpedia module pinned in %s is not downloaded: run `go mod download` there", component)
		}
		env.CRDInstallOptions.Paths = append(env.CRDInstallOptions.Paths,
			filepath.Join(dir, "kustomize", "crds", "cluster.clusterpedia.io_pediaclusters.yaml"))
		return nil
	}
}

// WithKarmadas installs the CRD of the Karmada operator, from the module whose
// types the controllers use.
func WithKarmadas() Option {
	return func(env *envtest.Environment) error {
		path, err := karmadaCRD()
		env.CRDInstallOptions.Paths = append(env.CRDInstallOptions.Paths, path)
		return err
	}
}

// WithKarmadaPolicies installs the CRDs of Karmada's policies, from the same module.
func WithKarmadaPolicies() Option {
	return func(env *envtest.Environment) error {
		path, err := karmadaFile("charts", "karmada", "_crds", "bases", "policy")
		env.CRDInstallOptions.Paths = append(env.CRDInstallOptions.Paths, path)
		return err
	}
}

func karmadaCRD() (string, error) {
	return karmadaFile("operator", "config", "crds", "operator.karmada.io_karmadas.yaml")
}

// karmadaFile returns the path of a file or folder of the Karmada module.
func karmadaFile(elements ...string) (string, error) {
	list := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/karmada-io/karmada")
	list.Dir = root()
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the Karmada module: %w", err)
	}
	return filepath.Join(append([]string{strings.TrimSpace(string(out))}, elements...)...), nil
}

// InstallKarmadas does the same as WithKarmadas while the server runs. The result
// takes it away again, and returns when it is removed.
func InstallKarmadas(tb testing.TB) (remove func()) {
	tb.Helper()
	path, err := karmadaCRD()
	if err != nil {
		tb.Fatal(err)
	}
	return InstallCRDs(tb, Config(tb), path)
}

// InstallCRDs has a running server serve the definitions of a file or folder, in the
// place of those of the same names. The result takes them away again, and returns when
// they are removed.
func InstallCRDs(tb testing.TB, config *rest.Config, path string) (remove func()) {
	tb.Helper()
	options := envtest.CRDInstallOptions{Paths: []string{path}, ErrorIfPathMissing: true, MaxTime: crdPatience}
	installed, err := envtest.InstallCRDs(config, options)
	if err != nil {
		tb.Fatalf("install the CRDs of %s: %v", path, err)
	}
	return func() {
		if err := envtest.UninstallCRDs(config, options); err != nil {
			tb.Errorf("remove the CRDs of %s: %v", path, err)
		}
		crds, err := apiextensions.NewForConfig(config)
		if err != nil {
			tb.Fatal(err)
		}
		for _, crd := range installed {
			// The server serves it on until the last of its objects is removed.
			if err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				_, err := crds.CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			}); err != nil {
				tb.Errorf("the CRD %s does not go: %v", crd.Name, err)
			}
		}
	}
}

// Run starts the apiserver, runs the tests of a package and stops it. Its
// result is the exit code for os.Exit. The tests find the server through
// Config; where the binaries are missing, Config skips them.
func Run(m *testing.M, options ...Option) int {
	assets, err := findAssets()
	if err != nil {
		if os.Getenv(requireVariable) != "" {
			fmt.Fprintf(os.Stderr, "%v\n", err)
			return 1
		}
		missing = err.Error()
		return m.Run()
	}

	env := &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startPatience,
		ControlPlaneStopTimeout:  time.Minute,
	}
	env.CRDInstallOptions.MaxTime = crdPatience
	env.CRDInstallOptions.Paths = []string{filepath.Join(root(), "deploy", "helm", "kairship", "crds")}
	for _, option := range options {
		if err := option(env); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// The server has to go even when a test panics: nothing else would stop it.
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop the test apiserver: %v\n", err)
		}
	}()
	if config, err = env.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "start the test apiserver: %v\n", err)
		return 1
	}
	// Tests wait for the server, not for the client's own limiter.
	config.QPS = -1
	defer stopOther()
	return m.Run()
}

var (
	config  *rest.Config
	missing string

	// other is a second server, for tests that need two clusters.
	other       *envtest.Environment
	otherConfig *rest.Config
	startOther  sync.Once
	errOther    error
)

// OtherConfig is the connection to a second apiserver, without Kairship's
// resources, as an administrator. It is started for the first test that asks
// for it.
func OtherConfig(tb testing.TB) *rest.Config {
	tb.Helper()
	Config(tb) // It skips the test where there are no servers.
	startOther.Do(func() {
		dir, err := findAssets()
		if err != nil {
			errOther = err
			return
		}
		other = &envtest.Environment{
			BinaryAssetsDirectory:    dir,
			ControlPlaneStartTimeout: startPatience,
			ControlPlaneStopTimeout:  time.Minute,
		}
		if otherConfig, errOther = other.Start(); errOther == nil {
			otherConfig.QPS = -1
		}
	})
	if errOther != nil {
		tb.Fatalf("start a second test apiserver: %v", errOther)
	}
	return rest.CopyConfig(otherConfig)
}

func stopOther() {
	if other == nil {
		return
	}
	if err := other.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stop the second test apiserver: %v\n", err)
	}
}

// Config is the connection to the apiserver that Run started, as an
// administrator. It skips the test where there is none.
func Config(tb testing.TB) *rest.Config {
	tb.Helper()
	if config == nil {
		if missing == "" {
			tb.Fatal("no test apiserver: the package's TestMain has to call apitest.Run")
		}
		tb.Skip(missing)
	}
	return rest.CopyConfig(config)
}

// findAssets is the folder that holds kube-apiserver and etcd.
func findAssets() (string, error) {
	candidates := []string{
		filepath.Join(root(), ".local", "bin"),
		filepath.Join(root(), ".local-test", "bin"),
	}
	if set := os.Getenv(assetsVariable); set != "" {
		candidates = []string{set}
	}
	for _, dir := range candidates {
		if executable(filepath.Join(dir, "kube-apiserver")) && executable(filepath.Join(dir, "etcd")) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no kube-apiserver and etcd in %s: run `go run ./deploy/local build` once, or set %s",
		strings.Join(candidates, ", "), assetsVariable)
}

func executable(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // the folder is the developer's own setting
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// root is the repository's root: tests run in the folder of their package.
func root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			panic("no folder above that of the test has a go.mod")
		}
		dir = parent
	}
}
