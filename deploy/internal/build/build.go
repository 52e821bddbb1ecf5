package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options say what is built where.
type Options struct {
	// Repository is the root of the clone.
	Repository string
	// CacheRoot is the folder of all built components; see CacheRoot.
	CacheRoot string
	// Modules are the modules to build: Fleet, Node or both.
	Modules []Module
	// Progress is told what happens; see NewDisplay.
	Progress Progress
}

// Result says where the built components are.
type Result struct {
	// Binaries maps a binary's name to its path in the cache.
	Binaries map[string]string
	// Manifests maps a manifest's name (Manifest.As) to its folder in the cache.
	Manifests map[string]string
	// Compiled counts the binaries that were not in the cache.
	Compiled int
}

// Components makes sure that all components are built. It returns at the first module that fails,
// with the finished ones kept in the cache.
func Components(ctx context.Context, opts Options) (Result, error) {
	result := Result{Binaries: map[string]string{}, Manifests: map[string]string{}}
	var pending []component
	for _, m := range opts.Modules {
		source := filepath.Join(opts.Repository, filepath.FromSlash(m.Folder))
		folder, err := cacheFolder(m, source, opts.CacheRoot)
		if err != nil {
			return Result{}, err
		}
		c := component{module: m, source: source, folder: folder}
		for _, b := range m.Binaries {
			result.Binaries[b.Name] = c.binary(b)
		}
		for _, manifest := range m.Manifests {
			result.Manifests[manifest.As] = c.manifest(manifest)
		}
		if !c.complete() {
			pending = append(pending, c)
		}
	}
	if len(pending) == 0 {
		return result, nil
	}
	for _, c := range pending {
		if c.module.CGO {
			if err := ensureCompiler(ctx, opts.Progress); err != nil {
				return Result{}, fmt.Errorf("module %s: %w", c.module.Name, err)
			}
		}
		for _, b := range c.missing() {
			opts.Progress.Add(b.Name)
		}
	}
	for _, c := range pending {
		n, err := c.build(ctx, opts.Progress)
		result.Compiled += n
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// ensureCompiler looks for the C compiler that cgo uses and installs one where it can.
func ensureCompiler(ctx context.Context, progress Progress) error {
	name := os.Getenv("CC")
	if name == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
		if err != nil {
			return fmt.Errorf("go env CC: %w", err)
		}
		name = strings.TrimSpace(string(out))
	}
	if _, err := exec.LookPath(name); err == nil {
		return nil
	}
	if err := Install(ctx, progress, "a C compiler ("+name+"), which Clusterpedia's SQLite driver needs,", "gcc", "libc6-dev"); err != nil {
		return err
	}
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("the C compiler %s, which CC or `go env CC` names, does not exist: unset that, or install it", name)
	}
	return nil
}

// every calls f at the interval until the returned function is called.
func every(interval time.Duration, f func()) (stop func()) {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				f()
			}
		}
	}()
	return func() { close(done); <-finished }
}
