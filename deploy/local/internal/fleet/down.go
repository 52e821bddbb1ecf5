package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// Down stops every recorded process, in the reverse of the order in which they start. The data
// stays, so that the next Up is quick.
func (f *Fleet) Down(ctx context.Context) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f.down(ctx)
}

func (f *Fleet) down(ctx context.Context) error {
	begun := time.Now()
	names, err := f.records.Names()
	if err != nil {
		return err
	}
	if err := os.Remove(f.paths.Description()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	stopped, failures := 0, []error{}
	for _, group := range f.stopGroups(names) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range group {
			wg.Go(func() {
				was, err := f.stopNamed(ctx, name)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failures = append(failures, err)
				}
				if was {
					stopped++
				}
			})
		}
		wg.Wait()
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	f.report.Sayf("down: %d processes stopped in %.1fs", stopped, time.Since(begun).Seconds())
	return nil
}

// stopGroups divides recorded processes into the waves in which they are stopped: what stands on an
// apiserver first, then the apiservers, then what stores their data. Within a wave order does not
// matter. Going through the exact order one by one would only take longer.
func (f *Fleet) stopGroups(names []string) [][]string {
	groups := make([][]string, 3)
	for _, name := range names {
		switch {
		case name == "etcd" || name == postgresProcess:
			groups[2] = append(groups[2], name)
		case strings.HasSuffix(name, "-apiserver") && name == clusterOf(name)+"-apiserver":
			groups[1] = append(groups[1], name)
		default:
			groups[0] = append(groups[0], name)
		}
	}
	return groups
}

// stopNamed stops a recorded process; was reports whether it ran.
func (f *Fleet) stopNamed(ctx context.Context, name string) (was bool, err error) {
	record, running, err := f.records.Running(name)
	if err != nil {
		return false, err
	}
	if !running {
		return false, f.records.Remove(name)
	}
	return true, f.stop(ctx, record, stopSignalOf(name))
}

// Purge stops the fleet and removes its folder.
func (f *Fleet) Purge(ctx context.Context) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.down(ctx); err != nil {
		return err
	}
	// Only a folder that this program filled is removed whole.
	if !f.Exists() {
		return fmt.Errorf("%s holds no fleet (no %s); nothing was removed", f.paths.Root, filepath.Base(f.paths.State()))
	}
	if err := os.RemoveAll(f.postgres.outsideData()); err != nil {
		return err
	}
	if err := os.RemoveAll(f.paths.Root); err != nil {
		return err
	}
	f.report.Sayf("removed %s", f.paths.Root)
	return nil
}

// running returns the record of a process that runs, by its name.
func (f *Fleet) running(name string) (proc.Record, error) {
	record, running, err := f.records.Running(name)
	if err != nil {
		return proc.Record{}, err
	}
	if !running {
		return proc.Record{}, fmt.Errorf("%s does not run", name)
	}
	return record, nil
}
