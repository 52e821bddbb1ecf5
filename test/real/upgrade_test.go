package real

import (
	"os"
	"os/exec"
	"testing"
)

// TestUpgradeFromRelease upgrades from the release that the node was set up with to the working tree, by the documented
// commands, and rolls back. No request fails.
func TestUpgradeFromRelease(t *testing.T) {
	if os.Getenv("KAIRSHIP_REAL_UPGRADE") == "" {
		t.Skip("the node runs the working tree: `make test-real-upgrade FROM=v1.2.3` begins with a release")
	}
	w := open(t)
	before := w.images(t)
	l := w.begin(t)
	up := exec.CommandContext(t.Context(), w.Program, "up", "--dir", w.dir, "--network", w.Network)
	out, err := up.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	l.check(t, 0)
	after := w.images(t)
	for image := range after {
		if before[image] {
			t.Errorf("after the upgrade a pod runs %s, as before", image)
		}
	}
	l = w.begin(t)
	w.helm(t, "rollback", "kairship", "--namespace", system, "--wait", "--timeout", "5m")
	l.check(t, 0)
	for image := range w.images(t) {
		if !before[image] {
			t.Errorf("after the way back a pod runs %s", image)
		}
	}
	TestApplicationRuns(t)
	w.awaitRunning(t, instance)
}

// images are those of Kairship's pods.
func (w *world) images(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, pod := range w.kairshipPods(t) {
		for _, c := range pod.Spec.Containers {
			found[c.Image] = true
		}
	}
	return found
}
