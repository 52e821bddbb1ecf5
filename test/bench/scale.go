package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// fewWorkloads are those of the small index that the large one is compared with.
const fewWorkloads = 200

// replaced are the processes of the fleet that would undo what is written.
var replaced = []string{"kairship-controller-manager-0", "kairship-controller-manager-1", "clustersynchro-manager"}

// scaleRun measures reads of an index of many objects.
type scaleRun struct {
	*options
	fleet     *fleet
	client    *graphqlClient
	index     *scaleIndex
	inventory *scaleInventory
	size      scaleFleet
	apiserver int
}

// scale fills the index of a fleet and measures. The fleet is not usable afterwards, because
// its controllers and its collector have ended.
func (o *options) scale(ctx context.Context, f *fleet) (err error) {
	s := &scaleRun{options: o, fleet: f, size: scaleFleet{o.workloads}}
	if s.client, err = o.kairship(f); err != nil {
		return err
	}
	if s.index, err = newScaleIndex(o.fleet, f); err != nil {
		return err
	}
	if s.inventory, err = newScaleInventory(f); err != nil {
		return err
	}
	if o.cleanup {
		return errors.Join(s.index.remove(ctx), s.inventory.remove(ctx))
	}
	s.apiserver = f.pid("kairship-apiserver")
	for _, name := range replaced {
		if err := f.end(ctx, name); err != nil {
			return err
		}
	}
	if err := s.inventory.ensure(ctx); err != nil {
		return err
	}
	r := &scaleReport{Started: time.Now().UTC(), Workloads: o.workloads}
	if err := s.measureAll(ctx, r); err != nil {
		return err
	}
	r.print(os.Stdout)
	if o.json != "" {
		return saveJSON(o.json, r)
	}
	return nil
}

// measureAll measures the small index, then the large one.
func (s *scaleRun) measureAll(ctx context.Context, r *scaleReport) error {
	few := min(fewWorkloads, s.size.workloads)
	if err := s.index.seed(ctx, s.size, 0, few); err != nil {
		return err
	}
	_, k, err := rebuild(ctx, s.index.dsn, s.inventory, few, nil)
	if err != nil {
		return err
	}
	asked, err := questions(ctx, s.client, s.size, few)
	if err == nil {
		err = s.analyze(ctx)
	}
	small := map[string]float64{}
	for _, q := range asked {
		if err != nil || !q.grows {
			continue
		}
		var f *scaleFigure
		if f, err = s.measure(ctx, q, 1); err == nil {
			small[q.name] = f.P50
		}
	}
	if err := errors.Join(err, k.stop()); err != nil {
		return err
	}

	begun := time.Now()
	if err := s.index.seed(ctx, s.size, few, s.size.workloads); err != nil {
		return err
	}
	r.SeedSeconds = time.Since(begun).Seconds()
	if err := s.index.exec(ctx, "ANALYZE resources"); err != nil {
		return err
	}
	during := slices.DeleteFunc(slices.Clone(asked), func(q *question) bool { return q.name != "get" && q.name != "page" })
	if r.Rebuild, k, err = rebuild(ctx, s.index.dsn, s.inventory, s.size.workloads, during); err != nil {
		return err
	}
	if err := s.large(ctx, r, small); err != nil {
		return errors.Join(err, k.stop())
	}
	r.Writes, err = s.writes(ctx, k)
	return err
}

// large measures the large index: every question with one client, then some with many.
func (s *scaleRun) large(ctx context.Context, r *scaleReport, small map[string]float64) error {
	if err := s.analyze(ctx); err != nil {
		return err
	}
	asked, err := questions(ctx, s.client, s.size, s.size.workloads)
	if err != nil {
		return err
	}
	for _, q := range asked {
		data, err := q.ask(ctx, 0)
		if err == nil {
			err = q.check(data)
		}
		if err != nil {
			sayf("%s: %v", q.name, err)
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %v", q.name, err))
			continue
		}
		f, err := s.measure(ctx, q, 1)
		if err != nil {
			r.Wrong = append(r.Wrong, fmt.Sprintf("%s: %v", q.name, err))
			continue
		}
		f.Small = small[q.name]
		r.One = append(r.One, f)
	}
	many := slices.Max(s.settings.clients)
	// The peak of the memory counts from here.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.apiserver), []byte("5"), 0); err != nil {
		sayf("the peak of the memory cannot be reset, and includes the rebuild: %v", err)
	}
	for _, q := range asked {
		if !q.grows {
			continue
		}
		f, err := s.measure(ctx, q, many)
		if err != nil {
			return err
		}
		r.Many = append(r.Many, f)
	}
	r.MemoryMiB, err = peakMemory(s.apiserver)
	return err
}

// measure asks a question in a closed loop.
func (s *scaleRun) measure(ctx context.Context, q *question, clients int) (*scaleFigure, error) {
	l := load{clients: clients, maxOps: s.settings.maxOps, seed: s.settings.seed, run: func(ctx context.Context, p pick) error {
		_, err := q.ask(ctx, p.offset)
		return err
	}}
	for n := range q.variables {
		l.among = append(l.among, pick{offset: n})
	}
	rand.New(rand.NewPCG(s.settings.seed, 0)).Shuffle(len(l.among), func(a, b int) { l.among[a], l.among[b] = l.among[b], l.among[a] })
	l.duration = s.settings.warmUp
	if _, err := l.do(ctx); err != nil {
		return nil, fmt.Errorf("%s: warming up: %w", q.name, err)
	}
	l.duration, l.seed = time.Duration(s.settings.rounds)*s.settings.slice, l.seed+1
	found, err := l.do(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.name, err)
	}
	f := &scaleFigure{Name: q.name, Title: q.title, Clients: clients, Target: q.target, figures: figuresOf([]sample{found})}
	sayf("%-12s %2d clients: p50 %.1f ms, p99 %.1f ms, %d operations", q.name, clients, f.P50, f.P99, f.Ops)
	return f, nil
}

// analyze has the database know its tables, as it does itself a minute after they changed.
func (s *scaleRun) analyze(ctx context.Context) error {
	return s.index.exec(ctx, "VACUUM ANALYZE kairship.workload", "VACUUM ANALYZE kairship.workload_doc", "VACUUM ANALYZE kairship.workload_object",
		"VACUUM ANALYZE kairship.workload_search", "VACUUM ANALYZE kairship.outbox", "ANALYZE resources")
}

// end ends a process of the fleet and waits until it has ended.
func (f *fleet) end(ctx context.Context, name string) error {
	pid := f.pid(name)
	if pid == 0 {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending %s: %w", name, err)
	}
	const most = 30 * time.Second
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, most, true, func(context.Context) (bool, error) {
		state := statOf(pid).State
		return state == "" || state == "Z", nil
	})
	if err != nil {
		return fmt.Errorf("%s did not end within %s: %w", name, most, err)
	}
	return nil
}

// peakMemory is the most that a process has held, in MiB.
func peakMemory(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	return float64(status.VmHWM) / (1 << 20), err
}
