package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
)

const (
	root      = "../../.."
	chart     = "../kairship"
	namespace = "kairship-system"
	// kubeVersion is told to Helm, which otherwise assumes one that is years old.
	kubeVersion = "1.35.0"
)

func TestMain(m *testing.M) {
	code := apitest.Run(m, withOthersCRDs, apitest.WithPediaClusters(), apitest.WithKarmadas(), withAudit)
	_ = os.Remove(auditLog)
	_ = os.Remove(auditLog + ".policy")
	os.Exit(code)
}

// withOthersCRDs installs the definitions of all that the chart may make objects for.
func withOthersCRDs(env *envtest.Environment) error {
	for _, definition := range []struct{ module, file string }{
		{"github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml"},
		{"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"},
		{"github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
		{"sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	} {
		module := definition.module
		download := exec.Command("go", "mod", "download", "-json", module)
		download.Dir = filepath.Join(root, "tools", "crds")
		download.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := download.Output()
		if err != nil {
			return fmt.Errorf("download %s, for its custom resource definitions: %w\n%s", module, err, out)
		}
		var downloaded struct {
			Dir string `json:"Dir"`
		}
		if err := json.Unmarshal(out, &downloaded); err != nil {
			return fmt.Errorf("download %s: %w", module, err)
		}
		env.CRDInstallOptions.Paths = append(env.CRDInstallOptions.Paths, filepath.Join(downloaded.Dir, definition.file))
	}
	return nil
}

// helmBinary is the pinned Helm, built when it is not in Go's cache.
var helmBinary = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=tools/helm/go.mod", "-n", "helm")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("build helm: %w: %s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
})

// helm runs Helm without the settings of the user who runs the tests.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	binary, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// render is what the chart makes of a file of values.
func render(t *testing.T, values string, args ...string) string {
	t.Helper()
	args = append([]string{"template", "kairship", chart, "--namespace", namespace, "--kube-version", kubeVersion, "--values", values}, args...)
	out, problems, err := helm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, problems)
	}
	return out
}

// objects are those of a rendered manifest, read strictly: a key that is there twice
// would silently win over the other.
func objects(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		content := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(content) > 0 {
			all = append(all, &unstructured.Unstructured{Object: content})
		}
	}
	return all
}

// matrix are the files of values that are rendered, by name.
func matrix(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("the matrix of values is not there: %v, %v", files, err)
	}
	byName := map[string]string{}
	for _, file := range files {
		byName[strings.TrimSuffix(filepath.Base(file), ".values.yaml")] = file
	}
	return byName
}
