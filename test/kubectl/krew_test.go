package kubectl

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestKrewInstallsTheRelease makes what a release publishes of the plugin, and has krew install it: the sums of the manifest
// are those of the archives, and the program in it tells its version.
func TestKrewInstallsTheRelease(t *testing.T) {
	longtest.Only(t, "building the plugin for each platform, and krew, takes minutes")
	if runtime.GOOS != "linux" {
		t.Skip("the archive of another platform is installed there")
	}
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "KREW_ROOT="+home, "KREW_NO_UPGRADE_CHECK=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("hack/plugin.sh", "v0.1.0"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	install := func(archive string) (string, error) {
		return run("go", "tool", "-modfile=tools/krew/go.mod", "krew", "install", "--manifest", "bin/plugin/kairship.yaml", "--archive", archive)
	}
	if out, err := install("bin/plugin/kubectl-kairship-darwin-arm64.tar.gz"); err == nil || !strings.Contains(out, "checksum") {
		t.Errorf("the archive of another platform: %v: %s", err, out)
	}
	if out, err := install("bin/plugin/kubectl-kairship-linux-" + runtime.GOARCH + ".tar.gz"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run(filepath.Join(home, "bin", "kubectl-kairship"), "--version"); err != nil || !strings.Contains(out, "v0.1.0") {
		t.Errorf("%v: %s", err, out)
	}
}
