package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// kairshipBinaries are built from the clone itself, by their folders.
var kairshipBinaries = map[string]string{
	"kairship-apiserver":          "./cmd/apiserver",
	"kairship-controller-manager": "./cmd/controller-manager",
}

// Kairship builds Kairship's own programs from the clone into bin. They are not cached by hash: the
// go tool does not link again what its output file already is, which is why that file is kept, in a
// folder beside the programs that run. A program is replaced only when its content changed, and by a
// rename, so that a running process keeps its own file and status can tell that a newer one exists.
func Kairship(ctx context.Context, repository, bin string) error {
	for name, folder := range kairshipBinaries {
		output := filepath.Join(bin, ".output", name)
		cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", output, folder)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s from %s: %w\n%s\n(`--without-kairship` brings up the rest of the fleet)", name, folder, err, tail(string(out), 20))
		}
		if err := replace(output, filepath.Join(bin, name)); err != nil {
			return fmt.Errorf("installing %s: %w", name, err)
		}
	}
	return nil
}

// replace makes target a copy of source unless it is one.
func replace(source, target string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case bytes.Equal(content, old):
		return nil
	}
	if err := os.WriteFile(target+".new", content, 0o755); err != nil {
		return err
	}
	return os.Rename(target+".new", target)
}

// Link fills bin with links to the components, replacing those that point elsewhere.
func Link(result Result, bin string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for name, path := range result.Binaries {
		link := filepath.Join(bin, name)
		if old, err := os.Readlink(link); err == nil && old == path {
			continue
		}
		temp := link + ".new"
		_ = os.Remove(temp)
		if err := os.Symlink(path, temp); err != nil {
			return err
		}
		if err := os.Rename(temp, link); err != nil {
			return err
		}
	}
	return nil
}
