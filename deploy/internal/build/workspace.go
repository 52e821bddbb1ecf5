package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workspace is the folder in the cache where one module is compiled: a copy of its go.mod and
// go.sum, so that nothing is ever written into the clone, and whatever its patch adds.
type workspace struct {
	ctx context.Context
	dir string
	cgo bool
}

// newWorkspace copies go.mod, go.sum and the sources of the component folder into dir.
func newWorkspace(ctx context.Context, component, dir string, cgo bool, sources ...string) (workspace, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return workspace{}, err
	}
	for _, name := range append([]string{"go.mod", "go.sum"}, sources...) {
		content, err := os.ReadFile(filepath.Join(component, name))
		if err != nil {
			return workspace{}, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return workspace{}, err
		}
	}
	return workspace{ctx: ctx, dir: dir, cgo: cgo}, nil
}

// command is the go tool in the workspace. The caller's own GOFLAGS and go.work must not decide
// what is compiled.
func (w workspace) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.ctx, "go", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if w.cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	return cmd
}

// output runs the go tool and returns what it printed; an error carries what it complained about.
func (w workspace) output(args ...string) ([]byte, error) {
	cmd := w.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args[:min(2, len(args))], " "), err, tail(stderr.String(), 20))
	}
	return out, nil
}

// download fetches one module version and returns its folder in the module cache. It does so in a
// module of its own, because a replaced module is neither downloaded nor verified by its replacer;
// the checksum is the one in the component's go.sum.
func (w workspace) download(module, version string) (string, error) {
	fetch, err := newWorkspace(w.ctx, w.dir, filepath.Join(w.dir, "fetch"), false)
	if err != nil {
		return "", err
	}
	gomod := fmt.Sprintf("module fetch\n\ngo 1.26\n\nrequire %s %s\n", module, version)
	if err := os.WriteFile(filepath.Join(fetch.dir, "go.mod"), []byte(gomod), 0o644); err != nil {
		return "", err
	}
	out, err := fetch.output("mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	return info.Dir, nil
}

// moduleInfo is what the go tool knows of a dependency.
type moduleInfo struct {
	Path    string
	Version string
	Time    string // of the release's commit, RFC 3339
	Dir     string // in the module cache; empty before the module is downloaded
	Replace *moduleInfo
}

// module describes a dependency as this module resolves it.
func (w workspace) module(path string) (moduleInfo, error) {
	out, err := w.output("list", "-m", "-json", path)
	if err != nil {
		return moduleInfo{}, err
	}
	var info moduleInfo
	if err := json.Unmarshal(out, &info); err != nil {
		return moduleInfo{}, fmt.Errorf("go list -m %s: %w", path, err)
	}
	return info, nil
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
