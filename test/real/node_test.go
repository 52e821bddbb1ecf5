package real

import (
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNodeKilled ends the whole node at once and starts it again: everything is as it was.
func TestNodeKilled(t *testing.T) {
	w := open(t)
	before, err := w.kube.CoreV1().Namespaces().Get(t.Context(), "k-"+instance, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for _, command := range []string{"kill", "start"} {
		out, err := exec.CommandContext(t.Context(), w.Program, command, "--dir", w.dir, "--network", w.Network).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	for _, namespace := range []string{"kube-system", "database", "clusterpedia-system", "karmada-system", system, "k-" + instance, shop} {
		w.awaitReady(t, 5*time.Minute, namespace)
	}
	t.Logf("all pods are ready again after %s", time.Since(begun).Round(time.Second))
	after, err := w.kube.CoreV1().Namespaces().Get(t.Context(), "k-"+instance, metav1.GetOptions{})
	if err != nil || after.UID != before.UID {
		t.Fatalf("the namespace of the instance was %s and is %s (error %v)", before.UID, after.UID, err)
	}
	w.awaitRunning(t, instance)
	TestApplicationRuns(t)
	TestCommandInContainer(t)
}
