package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Helm is the path of the pinned Helm, which the go tool builds when it is not in its cache. It needs
// no network once it is.
func Helm(ctx context.Context, repository string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+filepath.Join("tools", "helm", "go.mod"), "-n", "helm")
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w:\n%s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("building Helm, which tools/helm pins: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
