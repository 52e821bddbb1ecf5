package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/kairship-io/kairship/deploy/internal/build"
)

// tool is a program of this machine that the node needs, with the Debian package that has it.
type tool struct{ name, pkg string }

var tools = []tool{
	{"containerd", "containerd"},
	{"containerd-shim-runc-v2", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"iptables", "iptables"},   // the plugin ptp gives pods another address with it
	{"nft", "nftables"},        // kube-proxy
	{"conntrack", "conntrack"}, // kube-proxy
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"ldd", "libc-bin"},
}

// cniFolders are where distributions have the network plugins.
var cniFolders = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// cniPlugins are those that the node's network consists of.
var cniPlugins = []string{"ptp", "host-local", "portmap", "loopback"}

const cniPackage = "containernetworking-plugins"

// policyFile keeps Debian's packages from starting services when it exits with 101.
const policyFile = "/usr/sbin/policy-rc.d"

// CheckMachine reports whether a node can run here at all.
func CheckMachine() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a real node needs Linux, for its namespaces, cgroups and kubelet; this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root: it makes namespaces, mounts, a pair of network interfaces and cgroups, " +
			"and its kubelet runs containers. All of it is in namespaces of its own and is removed again. Run this with sudo, or as root in a virtual machine")
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !strings.Contains(string(known), "overlay") {
		return errors.New("the kernel has no overlayfs, which containerd keeps images in: load it with `modprobe overlay`")
	}
	if _, err := os.Stat(cgroupMount); err != nil {
		return fmt.Errorf("cgroups are not mounted at %s: %w", cgroupMount, err)
	}
	return nil
}

// EnsureTools looks for the programs of this machine that the node needs, and installs what is missing where
// that is possible.
func EnsureTools(ctx context.Context, progress build.Progress) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	remove, err := keepServicesStopped()
	if err != nil {
		return err
	}
	defer remove()
	if err := build.Install(ctx, progress, "what a node consists of", missing...); err != nil {
		return err
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("the packages %s are installed, and programs of them are still missing", strings.Join(missing, " "))
	}
	return nil
}

func missingPackages() []string {
	var missing []string
	seen := map[string]bool{}
	for _, t := range tools {
		if _, err := exec.LookPath(t.name); err != nil && !seen[t.pkg] {
			seen[t.pkg] = true
			missing = append(missing, t.pkg)
		}
	}
	if cniFolder() == "" {
		missing = append(missing, cniPackage)
	}
	return missing
}

// cniFolder is where the network plugins are; empty when they are missing.
func cniFolder() string {
	for _, folder := range cniFolders {
		complete := true
		for _, plugin := range cniPlugins {
			if _, err := os.Stat(filepath.Join(folder, plugin)); err != nil {
				complete = false
			}
		}
		if complete {
			return folder
		}
	}
	return ""
}

// keepServicesStopped has Debian's packages start no service of this machine, where nothing else decides
// about that.
func keepServicesStopped() (remove func(), err error) {
	if _, err := os.Stat(policyFile); err == nil {
		return func() {}, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return func() {}, nil // Another distribution, where nothing is installed.
	}
	if err := os.WriteFile(policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(policyFile) }, nil
}
