package test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		maps := configMaps(t, values)
		for _, d := range deployments(t, values) {
			spec := pod(t, d).Spec
			container := &spec.Containers[0]
			dir := emptyRoot(t, binaries[d.GetName()])
			for _, mount := range container.VolumeMounts {
				mounted(t, filepath.Join(dir, mount.MountPath), volume(t, spec, mount.Name), maps)
			}
			if out, err := inRoot(t, dir, nil, "--version"); err != nil || !strings.Contains(out, d.GetName()+" "+builtVersion) {
				t.Errorf("%s: %s --version: %v, %q", name, d.GetName(), err, out)
			}
			environ := environment(t, container)
			out, err := inRoot(t, dir, environ, append(container.Args, "--kubeconfig=/missing")...)
			if err == nil || !strings.Contains(out, ": one setting is wrong:\n") || !strings.Contains(out, "--kubeconfig: stat /missing") {
				t.Errorf("%s: %s %s: got %v and\n%s\nwant nothing but the complaint about --kubeconfig", name, d.GetName(), strings.Join(container.Args, " "), err, out)
			}
		}
	}
	configFileIsRead(t, binaries)
}

// configFileIsRead has one wrong setting in each file that the chart makes of values, of
// which the program has to tell by the file's name: that nothing is wrong would also be
// said of a file that no program reads.
func configFileIsRead(t *testing.T, binaries map[string]string) {
	t.Helper()
	values := file(t, "apiserver: {config: {max-query-cost: 2000000, max-body-bytes: 1000}}\ncontrollerManager: {config: {workers: {instance-status: 2000000}}}\n")
	maps := configMaps(t, values)
	for _, d := range deployments(t, values) {
		spec := pod(t, d).Spec
		dir := emptyRoot(t, binaries[d.GetName()])
		for _, mount := range spec.Containers[0].VolumeMounts {
			mounted(t, filepath.Join(dir, mount.MountPath), volume(t, spec, mount.Name), maps)
		}
		out, err := inRoot(t, dir, nil, spec.Containers[0].Args...)
		if err == nil || !strings.Contains(out, ": one setting is wrong:\n") || !strings.Contains(out, "(set by /etc/kairship/config/config.yaml:") {
			t.Errorf("%s: got %v and\n%s\nwant a complaint about what is in the file, and no other", d.GetName(), err, out)
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

// configMaps are those of the chart, by name.
func configMaps(t *testing.T, values string) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, o := range objects(t, render(t, values)) {
		if o.GetKind() == "ConfigMap" {
			data, _, err := unstructured.NestedStringMap(o.Object, "data")
			if err != nil {
				t.Fatal(err)
			}
			found[o.GetName()] = data
		}
	}
	return found
}

func volume(t *testing.T, spec corev1.PodSpec, name string) corev1.Volume {
	t.Helper()
	for _, v := range spec.Volumes {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no volume %s", name)
	return corev1.Volume{}
}

// mounted fills a folder as the Secret or ConfigMap of a volume would: one of the chart
// with what is in it, and any other with what the programs look for there.
func mounted(t *testing.T, dir string, v corev1.Volume, maps map[string]map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"tls.crt": "certificate", "tls.key": "key"}
	if v.Name == "index-database" {
		files = map[string]string{"dsn": "postgres://kairship@postgres/clusterpedia"}
	}
	if v.ConfigMap != nil {
		others := map[string]map[string]string{"clients": {"ca.crt": "authorities"}, "trusted-documents": {"manifest.json": "{}"}}
		files = others[v.ConfigMap.Name]
		if own, is := maps[v.ConfigMap.Name]; is {
			files = own
		}
		if len(files) == 0 {
			t.Fatalf("no program makes the ConfigMap %s", v.ConfigMap.Name)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// environment is what the container's process finds; what a Secret would say is made up.
func environment(t *testing.T, container *corev1.Container) []string {
	t.Helper()
	environ := make([]string, 0, len(container.Env))
	for _, variable := range container.Env {
		value := variable.Value
		switch from := variable.ValueFrom; {
		case from != nil && from.ResourceFieldRef != nil:
			if from.ResourceFieldRef.Resource != "limits.memory" {
				t.Fatalf("%s: %s is not known here", variable.Name, from.ResourceFieldRef.Resource)
			}
			value = strconv.FormatInt(container.Resources.Limits.Memory().Value(), 10)
		case from != nil:
			value = "from=elsewhere"
		}
		environ = append(environ, variable.Name+"="+value)
	}
	return environ
}

// inRoot runs the program with the folder as its root, as the user of the chart's
// security context.
func inRoot(t *testing.T, dir string, environ []string, args ...string) (string, error) {
	t.Helper()
	const user = 65532
	attributes := &syscall.SysProcAttr{Chroot: dir}
	if os.Getuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: user, Gid: user}
	} else {
		// In a user namespace of its own any user may change the root.
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	}
	cmd := exec.CommandContext(t.Context(), "/kairship", args...)
	cmd.Path, cmd.Dir, cmd.Env, cmd.SysProcAttr = "/kairship", "/", append([]string{}, environ...), attributes
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("no other root can be had here: %v", err)
	}
	return out.String(), err
}
