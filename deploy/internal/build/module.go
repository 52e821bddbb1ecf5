package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ModuleFolder returns the folder in the module cache, and the version, of a module that the go.mod in the
// given folder of the repository requires.
func ModuleFolder(ctx context.Context, repository, folder, module string) (dir, version string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json", module)
	cmd.Dir = filepath.Join(repository, filepath.FromSlash(folder))
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("looking for the module %s, which %s requires: %w", module, folder, err)
	}
	var info moduleInfo
	if err := json.Unmarshal(out, &info); err != nil {
		return "", "", fmt.Errorf("go list -m %s: %w", module, err)
	}
	if info.Dir == "" {
		return "", "", fmt.Errorf("the module %s is not in the module cache any more: run `go mod download %s@%s` and try again", module, module, info.Version)
	}
	return info.Dir, info.Version, nil
}
