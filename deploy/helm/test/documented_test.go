package test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// documented are the blocks of YAML that the guides show, with where they are.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, guide := range []string{filepath.Join(root, "docs", "operations.md"), filepath.Join(chart, "README.md")} {
		raw, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(raw), "```yaml\n") {
			if block, _, ends := strings.Cut(text, "\n```"); i > 0 && ends {
				found[guide] = append(found[guide], block)
			}
		}
	}
	return found
}

// TestDocumentedValuesRender takes every block of values, each separately.
func TestDocumentedValuesRender(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]any{}
	if err := yaml.Unmarshal(raw, &known); err != nil {
		t.Fatal(err)
	}
	for guide, blocks := range documented(t) {
		rendered := 0
		for _, block := range blocks {
			first, _, _ := strings.Cut(block, ":")
			if _, is := known[first]; !is {
				continue
			}
			rendered++
			if out, problems, err := helm(t, "template", "kairship", chart, "--namespace", namespace, "--kube-version", kubeVersion, "--values", file(t, block)); err != nil {
				t.Errorf("%s: %v\n%s%s of\n%s", guide, err, out, problems, block)
			}
		}
		if rendered == 0 {
			t.Errorf("%s shows no values", guide)
		}
	}
}

// neighbour is what the guide has installed beside Kairship, from the manifests of a
// release: those of the module that Kairship is tested with.
type neighbour struct {
	name, module, pinnedBy, namespace string
	// manifests is where the module has them.
	manifests string
	// also are the files that the guide has written beside the kustomization.
	also map[string]string
	// flags are those that Kairship needs, by Deployment.
	flags map[string][]string
}

// TestDocumentedNeighboursInstall builds what the guide applies, and has a real API
// server judge it.
func TestDocumentedNeighboursInstall(t *testing.T) {
	kube := connect(t)
	for _, n := range []neighbour{
		{
			name: "Clusterpedia", module: "github.com/clusterpedia-io/clusterpedia", pinnedBy: "deploy/local/components/clusterpedia",
			namespace: "clusterpedia-system", manifests: "kustomize", also: map[string]string{"internalstorage-config.yaml": "type: postgres"},
			flags: map[string][]string{
				"clusterpedia-apiserver":              {"--feature-gates=AllowParameterizedSQLQuery=true"},
				"clusterpedia-clustersynchro-manager": {"--leader-elect=true", "--resource-synchro-metrics-labels=cluster,gvr", "--feature-gates=PruneManagedFields=true,PruneLastAppliedConfiguration=true", "--feature-gates=ClusterAuthenticationFromSecret=true"},
			},
		},
		{
			name: "the Karmada operator", module: "github.com/karmada-io/karmada", pinnedBy: ".", namespace: "karmada-system", manifests: "operator/config",
			flags: map[string][]string{"karmada-operator": {"--leader-elect-resource-namespace=karmada-system"}},
		},
	} {
		t.Run(n.name, func(t *testing.T) { n.install(t, kube) })
	}
}

func (n neighbour) install(t *testing.T, kube client.Client) {
	t.Helper()
	dir, version := n.pinned(t)
	checkout := filepath.Base(n.module)
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, checkout, n.manifests), os.DirFS(filepath.Join(dir, n.manifests))); err != nil {
		t.Fatal(err)
	}
	n.also = withKustomization(t, n.also, checkout+"/"+n.manifests)
	for name, content := range n.also {
		for line := range strings.SplitSeq(content, "\n") {
			if _, tag, tagged := strings.Cut(line, "newTag: "); tagged && strings.Trim(tag, "}") != version {
				t.Errorf("the guide installs %s; Kairship is tested with %s", strings.TrimSpace(line), version)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), kubectl(t), "kustomize", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v\n%s", err, out)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.namespace}}
	if err := kube.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, o := range objects(t, string(out)) {
		//nolint:staticcheck // Whatever kind it is, the server is to see just what was built.
		err := kube.Patch(t.Context(), o.DeepCopy(), client.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner("test"), client.FieldValidation(metav1.FieldValidationStrict))
		if err != nil {
			t.Errorf("%s %s is refused: %v", o.GetKind(), o.GetName(), err)
		}
		if o.GetKind() == "Deployment" {
			found[o.GetName()] = true
			n.check(t, o, version)
		}
	}
	if len(found) != len(n.flags) {
		t.Errorf("there are the Deployments %v, want those of %v", found, n.flags)
	}
}

// check looks for the flags and the version in a Deployment.
func (n neighbour) check(t *testing.T, o *unstructured.Unstructured, version string) {
	t.Helper()
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	for _, flag := range n.flags[d.Name] {
		if !slices.Contains(container.Command, flag) {
			t.Errorf("%s is started as %v, without %s", d.Name, container.Command, flag)
		}
	}
	if !strings.HasSuffix(container.Image, ":"+version) {
		t.Errorf("%s has the image %s, want one of %s", d.Name, container.Image, version)
	}
}

// pinned is where the module is, and in which version.
func (n neighbour) pinned(t *testing.T) (dir, version string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", n.module)
	list.Dir = filepath.Join(root, n.pinnedBy)
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("find the module %s: %v", n.module, err)
	}
	words := strings.Fields(string(out))
	if len(words) != 2 {
		t.Skipf("the module %s is not downloaded", n.module)
	}
	return words[0], words[1]
}

// withKustomization adds the one that the guide shows for these manifests.
func withKustomization(t *testing.T, files map[string]string, manifests string) map[string]string {
	t.Helper()
	all := map[string]string{}
	maps.Copy(all, files)
	for _, block := range documented(t)[filepath.Join(root, "docs", "operations.md")] {
		if strings.Contains(block, "kind: Kustomization") && strings.Contains(block, "- "+manifests+"/") {
			all["kustomization.yaml"] = block
			return all
		}
	}
	t.Fatalf("the guide has no kustomization of %s", manifests)
	return nil
}

// kubectl is the fleet's, or else the machine's.
func kubectl(t *testing.T) string {
	t.Helper()
	for _, candidate := range []string{filepath.Join(root, ".local", "bin", "kubectl"), "kubectl"} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Skip("there is no kubectl to build a kustomization with")
	return ""
}
