package test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const builtVersion = "v0.0.0-charttest"

// TestProgramsTakeWhatTheChartGives starts each program as its container would be:
// the static binary alone in an empty root, as the chart's user, with the arguments
// and the mounted files that the chart gives it. It has to find everything right but
// the one thing that is wrong on purpose.
func TestProgramsTakeWhatTheChartGives(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	binaries := map[string]string{}
	for _, program := range []string{"apiserver", "controller-manager"} {
		binaries["kairship-"+program] = static(t, program)
	}
	for name, values := range matrix(t) {
		for _, d := range deployments(t, values) {
			container := pod(t, d).Spec.Containers[0]
			dir := emptyRoot(t, binaries[d.GetName()])
			for _, mount := range container.VolumeMounts {
				mounted(t, filepath.Join(dir, mount.MountPath), mount.Name)
			}
			if out, err := inRoot(t, dir, "--version"); err != nil || !strings.Contains(out, d.GetName()+" "+builtVersion) {
				t.Errorf("%s: %s --version: %v, %q", name, d.GetName(), err, out)
			}
			out, err := inRoot(t, dir, append(container.Args, "--kubeconfig=/missing")...)
			if err == nil || !strings.Contains(out, ": one setting is wrong:\n") || !strings.Contains(out, "--kubeconfig: stat /missing") {
				t.Errorf("%s: %s %s: got %v and\n%s\nwant nothing but the complaint about --kubeconfig", name, d.GetName(), strings.Join(container.Args, " "), err, out)
			}
		}
	}
}

// static builds a program as it is released.
func static(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), program)
	build := exec.CommandContext(t.Context(), filepath.Join(root, "hack", "static.sh"), program, builtVersion, binary)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static: it has a segment %s", program, segment.Type)
		}
	}
	return binary
}

// emptyRoot is a folder with nothing but the program in it.
func emptyRoot(t *testing.T, binary string) string {
	t.Helper()
	dir := t.TempDir()
	// The program runs as another user.
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kairship"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mounted fills a folder as the Secret or ConfigMap of that name would.
func mounted(t *testing.T, dir, volume string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"tls.crt": "certificate", "tls.key": "key"}
	if volume == "client-ca" {
		files = map[string]string{"ca.crt": "authorities"}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inRoot runs the program with the folder as its root, as the user of the chart's
// security context.
func inRoot(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	const user = 65532
	attributes := &syscall.SysProcAttr{Chroot: dir}
	if os.Getuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: user, Gid: user}
	} else {
		// In a user namespace of its own anybody may change the root.
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	}
	cmd := exec.CommandContext(t.Context(), "/kairship", args...)
	cmd.Path, cmd.Dir, cmd.Env, cmd.SysProcAttr = "/kairship", "/", []string{}, attributes
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("no other root can be had here: %v", err)
	}
	return out.String(), err
}
