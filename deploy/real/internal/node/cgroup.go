package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const cgroupMount = "/sys/fs/cgroup"

// hierarchies lists the mounted hierarchies: several with cgroup v1, one with v2.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupMount, "cgroup.controllers")); err == nil {
		return []string{cgroupMount}, nil
	}
	entries, err := os.ReadDir(cgroupMount)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() { // Others are links to joined controllers.
			all = append(all, filepath.Join(cgroupMount, e.Name()))
		}
	}
	return all, nil
}

// makeCgroups makes the node's cgroup in every hierarchy.
func makeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			return fmt.Errorf("making the node's cgroup: %w", err)
		}
		delegate(root)
		delegate(filepath.Join(root, name))
	}
	return nil
}

// delegate lets the children of a cgroup of v2 have its controllers. Those that cannot be had are
// reported by the kubelet, which knows what it needs.
func delegate(cgroup string) {
	available, err := os.ReadFile(filepath.Join(cgroup, "cgroup.controllers"))
	if err != nil {
		return // v1
	}
	for controller := range strings.FieldsSeq(string(available)) {
		_ = os.WriteFile(filepath.Join(cgroup, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
}

// cgroupPatience is how long the kernel may take to notice that a killed process left its cgroup.
const cgroupPatience = 10 * time.Second

// removeCgroups removes the node's cgroup and all below it, in every hierarchy.
func removeCgroups(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(cgroupPatience)
	for _, root := range roots {
		for {
			err := removeTree(filepath.Join(root, name))
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("removing the node's cgroup: %w", err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

func removeTree(root string) error {
	var all []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	sort.Sort(sort.Reverse(sort.StringSlice(all))) // children before their parents
	for _, dir := range all {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
