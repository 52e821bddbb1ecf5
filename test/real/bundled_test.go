package real

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

// bundledVariable is set where the node was brought up by the quick start.
const bundledVariable = "KAIRSHIP_REAL_BUNDLED"

const clusterpedia = "clusterpedia-system"

// openBundled skips the test on a node where PostgreSQL and Clusterpedia were installed apart.
func openBundled(t *testing.T) *world {
	t.Helper()
	if os.Getenv(bundledVariable) == "" {
		t.Skipf("the node was not brought up with --bundled (%s)", bundledVariable)
	}
	return open(t)
}

// TestBundledPodsMayEnough finds the pods that the chart brought ready, and nothing in their logs that they were not allowed.
func TestBundledPodsMayEnough(t *testing.T) {
	w := openBundled(t)
	found := 0
	for _, namespace := range []string{system, clusterpedia} {
		pods, err := w.pods(t.Context(), namespace, "app.kubernetes.io/part-of=kairship-bundled")
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods {
			found++
			if !ready(&pods[i]) {
				t.Errorf("pod %s is not ready", pods[i].Name)
			}
			raw, err := w.kube.CoreV1().Pods(namespace).GetLogs(pods[i].Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(raw) {
				if text := strings.ToLower(string(line)); strings.Contains(text, "forbidden") || strings.Contains(text, "permission denied") {
					t.Errorf("%s: %s", pods[i].Name, line)
				}
			}
		}
	}
	if want := 3; found != want {
		t.Errorf("the chart brought %d pods, want %d", found, want)
	}
}

// TestHelmTest runs the release's own test.
func TestHelmTest(t *testing.T) {
	w := open(t)
	w.helm(t, "test", "kairship", "--namespace", system, "--timeout", "2m")
	raw, err := w.kube.CoreV1().Pods(system).GetLogs("kairship-test", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || strings.Count(string(raw), "ok  ") != 3 {
		t.Errorf("the pod of the test wrote, error %v:\n%s", err, raw)
	}
}

// TestBundledComesBack upgrades the release, uninstalls it and installs it again with the same values: the passwords and the
// database stay, and Kairship answers as before.
func TestBundledComesBack(t *testing.T) {
	w := openBundled(t)
	secrets := func() map[string]string {
		all := map[string]string{}
		for namespace, names := range map[string][]string{system: {"kairship-postgresql", "kairship-index-database", "kairship-apiserver-tls"}, clusterpedia: {"clusterpedia-database", "clusterpedia-apiserver-tls"}} {
			for _, name := range names {
				secret, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for key, value := range secret.Data {
					all[name+"/"+key] = string(value)
				}
			}
		}
		return all
	}
	before := secrets()
	w.helm(t, "upgrade", "kairship", "deploy/helm/kairship", "--namespace", system, "--reset-then-reuse-values", "--wait", "--timeout", "5m")
	if after := secrets(); !maps.Equal(before, after) {
		t.Error("an upgrade changed passwords or certificates")
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, w.helm(t, "get", "values", "kairship", "--namespace", system, "--output", "yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.helm(t, "uninstall", "kairship", "--namespace", system, "--wait", "--timeout", "5m")
	poll.Until(t, 2*time.Minute, "the namespace of Clusterpedia goes", func(ctx context.Context) error {
		_, err := w.kube.CoreV1().Namespaces().Get(ctx, clusterpedia, metav1.GetOptions{})
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
	if _, err := w.kube.CoreV1().Secrets(system).Get(t.Context(), "kairship-postgresql", metav1.GetOptions{}); err != nil {
		t.Errorf("the passwords of the database went with the release: %v", err)
	}
	w.helm(t, "install", "kairship", "deploy/helm/kairship", "--namespace", system, "--values", file, "--wait", "--timeout", "5m")
	// The certificate and the Service are other ones, with another port of the node.
	made, err := w.kube.CoreV1().Secrets(system).Get(t.Context(), "kairship-apiserver-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.CAFile, made.Data["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), w.Program, "up", "--bundled", "--dir", w.dir, "--network", w.Network).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w = open(t)
	w.awaitRunning(t, instance)
	TestManagedInstance(t)
	TestApplicationRuns(t)
}
