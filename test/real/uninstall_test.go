package real

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/internal/poll"
)

var instances = schema.GroupVersionResource{Group: "kairship.io", Version: "v1alpha1", Resource: "instances"}

// TestWithoutKairship uninstalls the release: instances and applications go on without it, and are known again when it
// comes back.
func TestWithoutKairship(t *testing.T) {
	w := open(t)
	var history []struct {
		Revision int `json:"revision"`
	}
	if err := json.Unmarshal(w.helm(t, "history", "kairship", "--namespace", system, "--max", "1", "--output", "json"), &history); err != nil || len(history) != 1 {
		t.Fatalf("the history of the release is %+v, error %v", history, err)
	}
	w.helm(t, "uninstall", "kairship", "--namespace", system, "--keep-history", "--wait", "--timeout", "5m")
	back := false
	comeBack := func() {
		if !back {
			back = true
			w.helm(t, "rollback", "kairship", strconv.Itoa(history[0].Revision), "--namespace", system, "--wait", "--timeout", "5m")
		}
	}
	t.Cleanup(comeBack)
	poll.Until(t, time.Minute, "no pod of Kairship is left", func(ctx context.Context) error {
		pods, err := w.pods(ctx, system, "app.kubernetes.io/part-of=kairship")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d", len(pods))
		}
		return err
	})
	if _, err := w.objects.Resource(instances).Get(t.Context(), instance, metav1.GetOptions{}); err != nil {
		t.Errorf("the Instance went with the release: %v", err)
	}
	for _, namespace := range []string{"k-" + instance, shop} {
		w.awaitReady(t, time.Minute, namespace)
	}
	comeBack()
	w.awaitReady(t, 2*time.Minute, system)
	// The Service is another one, with another port of the node.
	if out, err := exec.CommandContext(t.Context(), w.Program, "up", "--dir", w.dir, "--network", w.Network).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w = open(t)
	w.awaitRunning(t, instance)
	TestManagedInstance(t)
	TestApplicationRuns(t)
}

// TestUninstalledForGood carries out what docs/operations.md says, on a node that is brought up by the quick start: nothing of
// Kairship is left, and the pods of the Karmada and of the application run on.
func TestUninstalledForGood(t *testing.T) {
	w := openBundled(t)
	w.awaitRunning(t, instance)
	before, control := w.uids(t, shop), w.uids(t, "k-"+instance)
	uninstall := block(t, "## Uninstall", "sh", 0)
	w.shell(t, `kubectl patch instances.kairship.io `+instance+` --type merge --patch '{"spec": {"deletionPolicy": "Retain"}}'`)
	w.shell(t, uninstall)

	for what, selector := range map[string]string{
		"clusterroles,clusterrolebindings,crds,namespaces,apiservices,validatingwebhookconfigurations": "app.kubernetes.io/part-of in (kairship, kairship-bundled)",
		"clusterroles,clusterrolebindings,validatingadmissionpolicies":                                 "app.kubernetes.io/managed-by=kairship",
	} {
		left, err := w.kubectl(t.Context(), w.Kubeconfig, "get", what, "--selector", selector, "--output", "name")
		if err != nil || strings.TrimSpace(left) != "" {
			t.Errorf("with %s are left, error %v:\n%s", selector, err, left)
		}
	}
	named, err := w.kubectl(t.Context(), w.Kubeconfig, "get", "clusterroles,clusterrolebindings,crds,namespaces", "--output", "name")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(named) {
		if strings.Contains(line, "kairship") {
			t.Errorf("left is %s", line)
		}
	}
	w.awaitReady(t, time.Minute, "k-"+instance)
	if after := w.uids(t, "k-"+instance); !slices.Equal(control, after) {
		t.Errorf("the pods of the Karmada were %v and are %v", control, after)
	}
	if after := w.uids(t, shop); !slices.Equal(before, after) {
		t.Errorf("the application's pods were %v and are %v", before, after)
	}
}

// block is one of the blocks in a language below a heading of docs/operations.md.
func block(t *testing.T, heading, language string, number int) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n##")
	blocks := strings.Split(section, "```"+language+"\n")[1:]
	if number >= len(blocks) {
		t.Fatalf("docs/operations.md has %d blocks of %s below %q", len(blocks), language, heading)
	}
	text, _, _ := strings.Cut(blocks[number], "```")
	return text
}

// shell carries out commands of a page as an administrator does, in the repository.
func (w *world) shell(t *testing.T, commands string) {
	t.Helper()
	w.shellIn(t, w.Chart, commands)
}

// shellIn does so in another folder.
func (w *world) shellIn(t *testing.T, dir, commands string) {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"kubectl": w.KubectlPath, "helm": w.HelmPath} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig, "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
