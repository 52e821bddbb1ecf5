// Command rolereference writes docs/role-reference.md: what each role permits, in Kairship,
// in an instance and in the members, and what the programs may do. Everything is read from
// the code and the chart; `make generate` runs it after the programs' roles are written.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const output = "docs/role-reference.md"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the module's root: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(mod)))
	c, err := readChart(ctx, root)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := write(&page, c); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, output), page.Bytes(), 0o644)
}

// template renders the chart with the pinned Helm.
func template(ctx context.Context, root string, args ...string) ([]byte, error) {
	all := append([]string{
		"tool", "-modfile=tools/helm/go.mod", "helm", "template", "kairship", "deploy/helm/kairship",
		"--namespace", "kairship-system", "--kube-version", "1.35.0",
	}, args...)
	cmd := exec.CommandContext(ctx, "go", all...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("render the chart: %w: %s", err, exit.Stderr)
	}
	return out, err
}
