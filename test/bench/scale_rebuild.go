package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projector"
)

// statePause is the time between two looks at the state of the projection.
const statePause = 50 * time.Millisecond

// rebuilt says how a rebuild of the projection went.
type rebuilt struct {
	Workloads int     `json:"workloads"`
	Seconds   float64 `json:"seconds"`
	// Answered and Failed are the questions of one client meanwhile.
	Answered int `json:"answered"`
	Failed   int `json:"failed"`
	// P50 and P99 are the latencies of the answers, in milliseconds.
	P50       float64 `json:"p50Millis"`
	P99       float64 `json:"p99Millis"`
	LastError string  `json:"lastError,omitempty"`
}

// keeper runs the projector of the controller manager in this process, in the place of the
// fleet's own, which would find out that nothing answers behind the instances.
type keeper struct {
	db    *projection.DB
	end   context.CancelFunc
	ended chan error
}

// rebuild rebuilds the projection, measures how long it takes, and leaves the projector
// running. Meanwhile one client asks questions in turns.
func rebuild(ctx context.Context, dsn string, inventory *scaleInventory, workloads int, questions []*question) (*rebuilt, *keeper, error) {
	db, err := projection.Open(dsn)
	if err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	if err := db.Install(ctx); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	running, end := context.WithCancel(ctx)
	k := &keeper{db: db, end: end, ended: make(chan error, 1)}
	go func() {
		p := &projector.Projector{DB: db, Log: logr.Discard(), Metrics: projector.NewMetrics(), Collections: inventory.collections, CheckInterval: projector.DefaultCheckInterval}
		k.ended <- p.Run(running)
	}()
	asking, stop := context.WithCancel(ctx)
	r := &rebuilt{Workloads: workloads}
	asked := make(chan []time.Duration)
	go func() { asked <- r.ask(asking, questions) }()
	err = k.complete(ctx)
	r.Seconds = time.Since(begun).Seconds()
	stop()
	if latencies := <-asked; len(latencies) > 0 {
		r.P50, r.P99 = millis(percentile(latencies, 50)), millis(percentile(latencies, 99))
	}
	if err != nil {
		return nil, nil, errors.Join(err, k.stop())
	}
	sayf("rebuild: %d workloads in %.1f s; meanwhile %d answers and %d failures", workloads, r.Seconds, r.Answered, r.Failed)
	return r, k, nil
}

// ask asks the questions in turns until the context ends.
func (r *rebuilt) ask(ctx context.Context, questions []*question) (latencies []time.Duration) {
	random := rand.New(rand.NewPCG(1, 1))
	for n := 0; ctx.Err() == nil && len(questions) > 0; n++ {
		q := questions[n%len(questions)]
		begun := time.Now()
		_, err := q.ask(ctx, random.IntN(len(q.variables)))
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.Failed++
			r.LastError = err.Error()
		default:
			r.Answered++
			latencies = append(latencies, time.Since(begun))
		}
	}
	return latencies
}

// complete waits until the projection is complete and no change waits.
func (k *keeper) complete(ctx context.Context) error {
	for {
		state, refresh, err := k.db.State(ctx)
		if err != nil {
			return err
		}
		lag, err := k.db.Lag(ctx)
		if err != nil {
			return err
		}
		pods, err := k.db.PodState(ctx)
		if err != nil {
			return err
		}
		podLag, err := k.db.PodLag(ctx)
		if err != nil {
			return err
		}
		if state == projection.Complete && pods == projection.Complete && refresh == "" && lag == 0 && podLag == 0 {
			return nil
		}
		select {
		case err := <-k.ended:
			k.ended <- err
			return fmt.Errorf("the projector ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(statePause):
		}
	}
}

// stop ends the projector.
func (k *keeper) stop() error {
	k.end()
	err := <-k.ended
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, k.db.Close())
}
