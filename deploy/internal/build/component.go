package build

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"
)

// component is a module with its folders.
type component struct {
	module Module
	source string // in the clone
	folder string // in the cache
}

func (c component) binary(b Binary) string {
	return filepath.Join(c.folder, "bin", b.Name)
}

func (c component) manifest(m Manifest) string {
	return filepath.Join(c.folder, "manifests", filepath.FromSlash(m.As))
}

// missing are the binaries still to be compiled. A binary appears in the cache by a rename, so one
// that exists is whole.
func (c component) missing() []Binary {
	var missing []Binary
	for _, b := range c.module.Binaries {
		if _, err := os.Stat(c.binary(b)); err != nil {
			missing = append(missing, b)
		}
	}
	return missing
}

func (c component) complete() bool {
	for _, m := range c.module.Manifests {
		if _, err := os.Stat(c.manifest(m)); err != nil {
			return false
		}
	}
	return len(c.missing()) == 0
}

// build compiles what is missing, under a lock that other clones on this machine respect.
func (c component) build(ctx context.Context, progress Progress) (compiled int, err error) {
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		return 0, err
	}
	unlock, err := Lock(ctx, c.folder+".lock", func() {
		progress.Say(fmt.Sprintf("another run is building %s; waiting for it", c.module.Name))
	})
	if err != nil {
		return 0, err
	}
	defer unlock()

	work, err := newWorkspace(ctx, c.source, filepath.Join(c.folder, "work"), c.module.CGO, c.module.Sources...)
	if err != nil {
		return 0, err
	}
	missing := c.missing() // another run may have built them while this one waited
	for _, b := range c.module.Binaries {
		if !contains(missing, b.Name) {
			progress.Set(b.Name, Row{State: Cached})
		}
	}
	for _, b := range missing {
		progress.Set(b.Name, Row{State: Preparing})
	}
	if c.module.patch != nil {
		if err := c.module.patch(work); err != nil {
			return 0, fmt.Errorf("module %s: %w", c.module.Name, err)
		}
	}
	if len(missing) > 0 {
		if compiled, err = c.compile(work, missing, progress); err != nil {
			return compiled, err
		}
	}
	return compiled, c.copyManifests(work)
}

// compile builds the missing binaries into a temporary folder and moves the finished ones into
// place, also when another one failed.
func (c component) compile(work workspace, missing []Binary, progress Progress) (compiled int, err error) {
	downloads := 0
	listing, err := work.list(missing, func(string) {
		downloads++
		for _, b := range missing {
			progress.Set(b.Name, Row{State: Downloading, Done: downloads})
		}
	})
	if err != nil {
		return 0, fmt.Errorf("module %s: %w", c.module.Name, err)
	}
	temp, err := os.MkdirTemp(c.folder, "out-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	logPath := filepath.Join(c.folder, "build.log")
	log, err := os.Create(logPath)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()

	count := newCounter(listing, packages(missing))
	changed := func() {
		for _, b := range missing {
			progress.Set(b.Name, c.row(count, temp, b))
		}
	}
	changed()
	stop := every(time.Second, changed) // links finish without a line of output
	messages, buildErr := work.compile(missing, temp, count, log, changed)
	stop()

	if err := os.MkdirAll(filepath.Join(c.folder, "bin"), 0o755); err != nil {
		return 0, err
	}
	for _, b := range missing {
		built := filepath.Join(temp, mainName(b.Package))
		if _, err := os.Stat(built); err != nil {
			progress.Set(b.Name, Row{State: Failed})
			continue
		}
		if err := os.Rename(built, c.binary(b)); err != nil {
			return compiled, err
		}
		progress.Set(b.Name, Row{State: Done})
		compiled++
	}
	if buildErr != nil {
		if ctxErr := work.ctx.Err(); ctxErr != nil {
			return compiled, fmt.Errorf("building module %s was interrupted: %w", c.module.Name, ctxErr)
		}
		return compiled, &compileError{module: c.module.Name, pkg: count.failed, log: logPath, excerpt: tail(messages, 20), cause: buildErr}
	}
	return compiled, nil
}

// row is what the display shows of a binary while its module compiles.
func (c component) row(count *counter, temp string, b Binary) Row {
	done, total := count.progress(b.Package)
	switch {
	case exists(filepath.Join(temp, mainName(b.Package))):
		return Row{State: Done, Done: total, Total: total}
	case done == total:
		return Row{State: Linking, Done: done, Total: total}
	default:
		return Row{State: Compiling, Done: done, Total: total}
	}
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// mainName is the file name that the go tool gives the program of a main package: the last element
// of its path that is not a major version.
func mainName(pkg string) string {
	if base := path.Base(pkg); !majorVersion.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(pkg))
}

// copyManifests puts the folders that the fleet reads at run time beside the binaries.
func (c component) copyManifests(work workspace) error {
	for _, m := range c.module.Manifests {
		target := c.manifest(m)
		if exists(target) {
			continue
		}
		info, err := work.module(m.Module)
		if err != nil {
			return err
		}
		if info.Dir == "" {
			return fmt.Errorf("module %s has no folder in the module cache; run `go mod download` in %s", m.Module, work.dir)
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		temp := target + ".tmp"
		if err := copyTree(filepath.Join(info.Dir, filepath.FromSlash(m.Folder)), temp); err != nil {
			return fmt.Errorf("copying the manifests of %s: %w", m.Module, err)
		}
		if err := os.Rename(temp, target); err != nil {
			return err
		}
	}
	return nil
}

func contains(binaries []Binary, name string) bool {
	for _, b := range binaries {
		if b.Name == name {
			return true
		}
	}
	return false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
