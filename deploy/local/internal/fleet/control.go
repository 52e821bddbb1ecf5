package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/proc"
)

// find returns one process of the fleet by name.
func (f *Fleet) find(name string) (process, error) {
	if !f.Exists() {
		return process{}, fmt.Errorf("%s holds no fleet; bring one up first", f.paths.Root)
	}
	if f.settings.DB == Postgres {
		if err := f.postgres.find(); err != nil {
			return process{}, err
		}
	}
	all := f.processes()
	for _, p := range all {
		if p.name == name {
			return p, nil
		}
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return process{}, fmt.Errorf("the fleet has no process %q; it has: %s", name, strings.Join(names, ", "))
}

// Kill ends one process at once, as a crash would; nothing restarts it but Start or Up.
func (f *Fleet) Kill(name string, signal syscall.Signal) error {
	if _, err := f.find(name); err != nil {
		return err
	}
	record, err := f.running(name)
	if err != nil {
		return err
	}
	if err := proc.Signal(record, signal); err != nil {
		return err
	}
	f.report.Sayf("%-32s sent %s to pid %d", name, signalName(signal), record.PID)
	return nil
}

// signalName is the name that people know a signal by.
func signalName(signal syscall.Signal) string {
	if signal == syscall.SIGKILL {
		return "SIGKILL"
	}
	return "SIGTERM"
}

// StartOne starts one process of a fleet that was set up before, and waits until it is ready.
func (f *Fleet) StartOne(ctx context.Context, name string) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return f.startOne(ctx, name)
}

func (f *Fleet) startOne(ctx context.Context, name string) error {
	p, err := f.find(name)
	if err != nil {
		return err
	}
	if name == postgresProcess {
		if err := f.postgres.prepare(ctx); err != nil {
			return err
		}
		p = f.postgres.process()
	}
	if record, running, err := f.records.Running(name); err != nil {
		return err
	} else if running {
		return fmt.Errorf("%s runs already, as pid %d", name, record.PID)
	}
	one := planned{process: p, action: start}
	if err := checkPorts(f.ports, []planned{one}); err != nil {
		return err
	}
	if err := f.connect(); err != nil {
		return err
	}
	return f.ensure(ctx, one)
}

// RestartOne stops one process when it runs, and starts it.
func (f *Fleet) RestartOne(ctx context.Context, name string) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := f.find(name); err != nil {
		return err
	}
	was, err := f.stopNamed(ctx, name)
	if err != nil {
		return err
	}
	if was {
		f.report.Sayf("%-32s stopped", name)
	}
	return f.startOne(ctx, name)
}

// Run brings the fleet up, calls ready, and stops the fleet when the context ends.
func (f *Fleet) Run(ctx context.Context, repository string, ready func()) error {
	err := f.Up(ctx, repository)
	if err == nil {
		ready()
		<-ctx.Done()
		f.report.Sayf("stopping the fleet")
	}
	if errors.Is(err, context.Canceled) {
		err = nil // Ctrl-C while it came up
	}
	// The context has ended; stopping needs one of its own.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	return errors.Join(err, f.Down(stopping))
}
