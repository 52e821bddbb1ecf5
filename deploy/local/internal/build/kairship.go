package build

import (
	"bytes"
	"context"
	"fmt"
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
// go tool's own cache makes an unchanged build take about a second. A binary is replaced only when
// its content changed, and by a rename, so that a running process keeps its own file and status can
// tell that a newer one exists.
func Kairship(ctx context.Context, repository, bin string) error {
	for name, folder := range kairshipBinaries {
		target := filepath.Join(bin, name)
		temp := target + ".new"
		cmd := exec.CommandContext(ctx, "go", "build", "-o", temp, folder)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s from %s: %w\n%s\n(`--without-kairship` brings up the rest of the fleet)", name, folder, err, tail(string(out), 20))
		}
		same, err := sameContent(temp, target)
		if err != nil {
			return err
		}
		if same {
			err = os.Remove(temp)
		} else {
			err = os.Rename(temp, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameContent says whether both files exist and are equal.
func sameContent(a, b string) (bool, error) {
	first, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	second, err := os.ReadFile(b)
	if os.IsNotExist(err) {
		return false, nil
	}
	return bytes.Equal(first, second), err
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
