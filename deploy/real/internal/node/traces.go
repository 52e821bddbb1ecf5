package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// traceCommands print what a node could leave behind; a program that is missing prints nothing.
var traceCommands = [][]string{
	{"ip", "-oneline", "link"},
	{"ip", "route"},
	{"iptables-save"},
	{"nft", "list", "ruleset"},
}

// changing are parts of the lines that change without a node: counters, and the date of iptables-save.
var changing = regexp.MustCompile(`\[\d+:\d+\]|^#.*$|counter packets \d+ bytes \d+|mtu \d+ |qlen \d+|link-netns\S* \S+`)

// foreign are cgroups and mounts that other programs of the machine make and remove.
const foreign = "/kairship-"

// Traces lists the mounts, interfaces, routes, packet filter rules and cgroups of this machine.
func Traces(ctx context.Context) ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(mounts)) {
		all = append(all, "mount "+strings.TrimSpace(line))
	}
	for _, command := range traceCommands {
		if _, err := exec.LookPath(command[0]); err != nil {
			continue
		}
		var problems bytes.Buffer
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(problems.String()))
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(changing.ReplaceAllString(line, "")); line != "" {
				all = append(all, command[0]+" "+line)
			}
		}
	}
	cgroups, err := nodeCgroups()
	return append(all, cgroups...), err
}

// nodeCgroups lists the cgroups of nodes. Those of other programs come and go.
func nodeCgroups() ([]string, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, root := range roots {
		found, err := filepath.Glob(root + foreign + "*")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, path := range found {
			all = append(all, "cgroup "+path)
		}
	}
	return all, nil
}

// Compare lists the lines that appeared, with a +, and those that are missing, with a -.
func Compare(before, after []string) []string {
	var differences []string
	for _, line := range after {
		if !slices.Contains(before, line) {
			differences = append(differences, "+ "+line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			differences = append(differences, "- "+line)
		}
	}
	return differences
}
