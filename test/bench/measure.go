package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// settings say how long and how often to measure.
type settings struct {
	rounds  int
	slice   time.Duration
	warmUp  time.Duration
	maxOps  int
	seed    uint64
	clients []int
	cpu     cpuMeter
}

// load is one closed loop: every client sends its next operation when it has
// the answer to the one before.
type load struct {
	clients int
	// until and maxOps bound it; whichever comes first.
	duration time.Duration
	maxOps   int
	// seed gives every client its sequence of places, the same for both sides.
	seed  uint64
	among []pick
	run   func(context.Context, pick) error
}

// sample is what one slice of load showed.
type sample struct {
	latencies []time.Duration
	elapsed   time.Duration
	cpu       cpuTimes
}

func (s sample) throughput() float64 { return float64(len(s.latencies)) / s.elapsed.Seconds() }

// do runs the load. The first error ends it.
func (l load) do(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		left      atomic.Int64
		wg        sync.WaitGroup
		latencies = make([][]time.Duration, l.clients)
	)
	left.Store(int64(l.maxOps))
	start := time.Now()
	for i := range l.clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(l.seed, uint64(i)))
			for time.Since(start) < l.duration && left.Add(-1) >= 0 && ctx.Err() == nil {
				p := l.among[random.IntN(len(l.among))]
				began := time.Now()
				if err := l.run(ctx, p); err != nil {
					cancel(err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	s := sample{latencies: slices.Concat(latencies...), elapsed: time.Since(start)}
	if ctx.Err() != nil {
		return s, context.Cause(ctx)
	}
	if len(s.latencies) == 0 {
		return s, fmt.Errorf("no operation was done within %s", l.duration)
	}
	return s, nil
}

// measure compares both sides in turns: A, B, A, B. A machine that slows down
// or speeds up meanwhile does so for both.
func (s *scenario) measure(ctx context.Context, cfg settings, clients int) (*comparison, error) {
	graphql := load{clients: clients, among: s.among, run: s.graphql.run}
	rest := load{clients: clients, among: s.among, run: s.rest.run}
	for _, warmUp := range []load{graphql, rest} {
		warmUp.duration, warmUp.maxOps, warmUp.seed = cfg.warmUp, cfg.maxOps, cfg.seed
		if _, err := warmUp.do(ctx); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
	}
	c := &comparison{Scenario: s.name, Title: s.title, Clients: clients}
	var a, b []sample
	for round := range cfg.rounds {
		seed := cfg.seed + uint64(round) + 1
		for _, one := range []struct {
			name    string
			load    load
			samples *[]sample
		}{{"Kairship", graphql, &a}, {"the index", rest, &b}} {
			one.load.duration, one.load.maxOps, one.load.seed = cfg.slice, cfg.maxOps, seed
			before := cfg.cpu.read()
			result, err := one.load.do(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", one.name, err)
			}
			result.cpu = cfg.cpu.read().minus(before)
			*one.samples = append(*one.samples, result)
		}
		c.LatencyRatios = append(c.LatencyRatios, ratio(percentile(a[round].latencies, 50), percentile(b[round].latencies, 50)))
		c.ThroughputRatios = append(c.ThroughputRatios, a[round].throughput()/b[round].throughput())
	}
	c.Kairship, c.Index = figuresOf(a), figuresOf(b)
	c.LatencyRatio, c.ThroughputRatio = median(c.LatencyRatios), median(c.ThroughputRatios)
	for _, t := range s.targets {
		if t.clients != clients {
			continue
		}
		value := c.LatencyRatio
		if t.throughput {
			value = c.ThroughputRatio
		}
		c.Targets = append(c.Targets, outcome{Target: t.String(), Ratio: value, Met: t.met(value)})
	}
	return c, nil
}
