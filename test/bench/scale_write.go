package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/projection"
)

const (
	visibleTarget = 50.0 // milliseconds, of 99 % of the changes
	writeTarget   = 0.8  // times the rate without triggers, at least

	// changesPerSecond are written while it is measured when they can be read.
	changesPerSecond = 100
	changes          = 1000
	// visiblePause is the time between two looks, by which a figure may be too long.
	visiblePause = 2 * time.Millisecond

	// writeRounds are with and without triggers in turns, each so long.
	writeRounds = 6
	writeSlice  = 2 * time.Second
	writers     = 2
)

// scaleWrites says what the projection costs the collector, and how late it is.
type scaleWrites struct {
	// VisibleP50 and VisibleP99 are the time from the commit of a change to the projection
	// showing it, in milliseconds.
	VisibleP50 float64 `json:"visibleP50Millis"`
	VisibleP99 float64 `json:"visibleP99Millis"`
	// Ratios are the rates of writes with triggers to those without, of each round.
	Ratios []float64 `json:"ratios"`
	// With and Without are the rates of all rounds, in writes per second.
	With    float64 `json:"withTriggers"`
	Without float64 `json:"withoutTriggers"`
}

// change is how the collector writes a change of an object.
const change = `UPDATE resources SET uid = $6, resource_version = $7, object = $8, synced_at = now()
	WHERE "group" = $1 AND version = $2 AND resource = $3 AND cluster = $4 AND namespace = $5 AND name = $9`

// version gives a row of indexedColumns a later resource version, and writes it.
func version(ctx context.Context, conn *pgx.Conn, row []any, number string) error {
	before, object := row[9].(string), row[10].(string) //nolint:forcetypeassert // They are of made.row.
	object = strings.Replace(object, `"resourceVersion":"`+before+`"`, `"resourceVersion":"`+number+`"`, 1)
	done, err := conn.Exec(ctx, change, row[0], row[1], row[2], row[4], row[5], row[8], number, object, row[6])
	if err == nil && done.RowsAffected() != 1 {
		err = fmt.Errorf("%s %s/%s of %s is not in the index", row[3], row[5], row[6], row[4])
	}
	return err
}

// visible measures how long it takes from the commit of a change of a workload until its row
// in the projection is of the new version, while the projector runs.
func (s *scaleRun) visible(ctx context.Context, w *scaleWrites) error {
	db, err := projection.OpenReader(func() (string, error) { return s.index.dsn, nil }, 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn, err := pgx.Connect(ctx, s.index.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	const number = "later"
	var mu sync.Mutex
	committed := map[projection.WorkloadKey]time.Time{}
	g, ctx := errgroup.WithContext(ctx)
	n := min(changes, s.size.workloads)
	g.Go(func() error {
		tick := time.NewTicker(time.Second / changesPerSecond)
		defer tick.Stop()
		for i := range n {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			at := i * (s.size.workloads / n)
			if err := version(ctx, conn, s.size.objects(at)[0], number); err != nil {
				return err
			}
			key := projection.WorkloadKey{Instance: scaleInstance(instanceOf(at)), Namespace: scaleNamespace(namespaceOf(at)), Name: scaleName(at), Kind: "DEPLOYMENT"}
			mu.Lock()
			committed[key] = time.Now()
			mu.Unlock()
		}
		return nil
	})
	var latencies []time.Duration
	g.Go(func() error {
		for ; len(latencies) < n; time.Sleep(visiblePause) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			var waiting []projection.WorkloadKey
			for key := range committed {
				waiting = append(waiting, key)
			}
			mu.Unlock()
			if len(waiting) == 0 {
				continue
			}
			found, err := db.Find(ctx, waiting, projection.Show{States: true})
			if err != nil {
				return err
			}
			now := time.Now()
			mu.Lock()
			for _, item := range found.Items {
				if item.State.ResourceVersion == number {
					latencies = append(latencies, now.Sub(committed[item.WorkloadKey]))
					delete(committed, item.WorkloadKey)
				}
			}
			mu.Unlock()
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("measuring when changes can be read: %w", err)
	}
	w.VisibleP50, w.VisibleP99 = millis(percentile(latencies, 50)), millis(percentile(latencies, 99))
	sayf("changes: %d at %d a second can be read after p50 %.1f ms, p99 %.1f ms", n, changesPerSecond, w.VisibleP50, w.VisibleP99)
	return nil
}

// writeRates measures how many changes of objects of all kinds can be written, with and
// without the triggers. The projector must not run: it would repair the triggers.
func (s *scaleRun) writeRates(ctx context.Context, w *scaleWrites) error {
	type side struct {
		statement string
		samples   *[]sample
	}
	var with, without, warmUp []sample
	for round := range writeRounds {
		sides := []side{{"ENABLE", &with}, {"DISABLE", &without}}
		if round%2 == 1 {
			slices.Reverse(sides)
		}
		if round == 0 {
			sides = slices.Insert(sides, 0, side{"ENABLE", &warmUp})
		}
		for _, one := range sides {
			if err := s.index.exec(ctx, "ALTER TABLE resources "+one.statement+" TRIGGER USER"); err != nil {
				return err
			}
			found, err := s.write(ctx, round)
			if err != nil {
				return fmt.Errorf("measuring the rate of writes: %w", err)
			}
			*one.samples = append(*one.samples, found)
		}
		w.Ratios = append(w.Ratios, with[round].throughput()/without[round].throughput())
	}
	w.With, w.Without = figuresOf(with).Throughput, figuresOf(without).Throughput
	sayf("writes: %.0f a second with triggers, %.0f without; the rounds are %s", w.With, w.Without, list(w.Ratios))
	return s.index.exec(ctx, "ALTER TABLE resources ENABLE TRIGGER USER")
}

// write writes changes as fast as it can for a while.
func (s *scaleRun) write(ctx context.Context, round int) (sample, error) {
	found := make([][]time.Duration, writers)
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for n := range writers {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, s.index.dsn)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
			random := rand.New(rand.NewPCG(uint64(round), uint64(n)))
			for time.Since(begun) < writeSlice {
				rows := s.size.objects(random.IntN(s.size.workloads))
				at := time.Now()
				if err := version(ctx, conn, rows[random.IntN(len(rows))], fmt.Sprintf("%d-%d", at.UnixNano(), n)); err != nil {
					return err
				}
				found[n] = append(found[n], time.Since(at))
			}
			return nil
		})
	}
	err := g.Wait()
	return sample{latencies: slices.Concat(found...), elapsed: time.Since(begun)}, err
}

// writes measures both; it ends the projector in between.
func (s *scaleRun) writes(ctx context.Context, k *keeper) (*scaleWrites, error) {
	w := &scaleWrites{}
	if err := s.visible(ctx, w); err != nil {
		_ = k.stop()
		return nil, err
	}
	if err := k.stop(); err != nil {
		return nil, err
	}
	return w, s.writeRates(ctx, w)
}
