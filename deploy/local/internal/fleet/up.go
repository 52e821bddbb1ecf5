package fleet

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/internal/proc"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// Up makes the fleet run: it builds what is missing, starts what does not run, sets up what has not
// been set up, and waits until everything is ready. On a fleet that runs it changes nothing.
func (f *Fleet) Up(ctx context.Context, repository string) error {
	return f.up(ctx, repository, f.buildKairship)
}

// StartEnded starts what does not run of a fleet that was brought up before, with the programs that Kairship was built to then.
func (f *Fleet) StartEnded(ctx context.Context, repository string) error {
	return f.up(ctx, repository, func(context.Context) error { return nil })
}

func (f *Fleet) up(ctx context.Context, repository string, kairship func(context.Context) error) error {
	unlock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	f.repository = repository
	f.settings.Provider = installedProvider(repository)
	f.state.Settings = f.settings
	if err := f.checkMembers(); err != nil {
		return err
	}
	f.report.Sayf("fleet in %s, ports from %d on, index on %s", f.paths.Root, f.settings.PortBase, f.settings.DB)
	if err := f.state.save(f.paths); err != nil {
		return err
	}
	result, err := Build(ctx, f.repository, f.paths)
	if err != nil {
		return err
	}
	f.manifests = result.Manifests
	if err := kairship(ctx); err != nil {
		return err
	}
	if f.settings.DB == Postgres {
		if err := f.postgres.prepare(ctx); err != nil {
			return err
		}
	}
	plan, err := f.plan()
	if err != nil {
		return err
	}
	if err := f.prepareFiles(); err != nil {
		return err
	}
	if err := f.connect(); err != nil {
		return err
	}
	if err := f.retire(ctx, plan); err != nil {
		return err
	}
	if err := checkPorts(f.ports, plan); err != nil {
		return err
	}
	starting := 0
	for _, p := range plan {
		if p.action != keep {
			starting++
		}
	}
	if err := f.ensureInotify(starting); err != nil {
		return err
	}
	begun := time.Now()
	if err := runGraph(ctx, f.tasks(plan)); err != nil {
		return err
	}
	if err := f.describe(); err != nil {
		return err
	}
	f.conclude(plan, time.Since(begun))
	return nil
}

// buildKairship builds Kairship's own programs, unless they are left out.
func (f *Fleet) buildKairship(ctx context.Context) error {
	if f.settings.WithoutKairship {
		return nil
	}
	begun := time.Now()
	if err := build.Kairship(ctx, f.repository, f.paths.Bin()); err != nil {
		return err
	}
	f.report.Step("kairship", "built", time.Since(begun))
	return nil
}

// Build builds the components alone, and links them into the bin folder of paths.
func Build(ctx context.Context, repository string, paths topology.Paths) (build.Result, error) {
	cache, err := build.CacheRoot()
	if err != nil {
		return build.Result{}, err
	}
	display := build.NewDisplay(os.Stdout)
	defer display.Close()
	result, err := build.Components(ctx, build.Options{Repository: repository, CacheRoot: cache, Modules: build.Fleet(), Progress: display})
	if err != nil {
		return build.Result{}, err
	}
	return result, build.Link(result, paths.Bin())
}

// planned is a process with what is to be done about it.
type planned struct {
	process
	action action
	record proc.Record // of the running process, unless action is start
}

// plan compares what runs with what should.
func (f *Fleet) plan() ([]planned, error) {
	var plan []planned
	for _, p := range f.processes() {
		record, running, err := f.records.Running(p.name)
		if err != nil {
			return nil, err
		}
		var have []string
		if running {
			have = proc.Args(record)
		}
		plan = append(plan, planned{process: p, record: record, action: decide(running, have, append([]string{p.binary}, p.args...))})
	}
	return plan, nil
}

// retire stops the recorded processes that the fleet's settings no longer include, and those that
// have to be started anew.
func (f *Fleet) retire(ctx context.Context, plan []planned) error {
	wanted := map[string]bool{}
	for _, p := range plan {
		wanted[p.name] = true
		if p.action != restart {
			continue
		}
		f.report.Sayf("%-32s its arguments changed: stopping it to start it anew", p.name)
		if err := f.stop(ctx, p.record, p.stopSignal()); err != nil {
			return err
		}
	}
	names, err := f.records.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		record, running, err := f.records.Running(name)
		if err != nil || wanted[name] {
			if err != nil {
				return err
			}
			continue
		}
		if running {
			f.report.Sayf("%-32s is no longer part of this fleet: stopping it", name)
			if err := f.stop(ctx, record, stopSignalOf(name)); err != nil {
				return err
			}
		}
		if err := f.records.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// portPatience is how long a port may be held by a process that cannot be named: a killed process keeps its
// ports for a moment, until the kernel has taken it apart.
const portPatience = 3 * time.Second

// checkPorts finds out before anything is started whether all ports are free that will be needed.
func checkPorts(ports topology.Ports, plan []planned) error {
	var taken []string
	deadline := time.Now().Add(portPatience)
	for _, p := range plan {
		if p.action == keep {
			continue
		}
		for _, purpose := range p.ports {
			holder, err := portHolder(ports.Of(purpose), deadline)
			if err != nil {
				return err
			}
			if holder != nil {
				taken = append(taken, fmt.Sprintf("  %d (%s, for %s): held by %s", ports.Of(purpose), purpose, p.name, holder))
			}
		}
	}
	return portsTaken(taken)
}

// portHolder returns who holds a port, nil when it is free.
func portHolder(port int, deadline time.Time) (*proc.Holder, error) {
	for {
		free, err := proc.PortFree(port)
		if free || err != nil {
			return nil, err
		}
		holder := proc.PortHolder(port)
		if holder.Known() || time.Now().After(deadline) {
			return &holder, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// tasks joins the processes and the set-up steps to one graph.
func (f *Fleet) tasks(plan []planned) []task {
	tasks := f.setupTasks()
	for _, p := range plan {
		tasks = append(tasks, task{name: p.name, needs: p.needs, run: func(ctx context.Context) error {
			return f.ensure(ctx, p)
		}})
	}
	return tasks
}

// conclude says how it went.
func (f *Fleet) conclude(plan []planned, took time.Duration) {
	var rss uint64
	for _, p := range plan {
		record, running, err := f.records.Running(p.name)
		if err != nil || !running {
			continue
		}
		if usage, err := proc.UsageOf(record); err == nil {
			rss += usage.RSS
			if usage.Outdated {
				f.report.Sayf("%-32s runs an older build; `restart %s` replaces it", p.name, p.name)
			}
		}
	}
	f.report.Sayf("ready: %d processes, %d of them started now, in %.1fs; %.1f GiB of memory", len(plan), f.launched.Load(), took.Seconds(), float64(rss)/(1<<30))
}
