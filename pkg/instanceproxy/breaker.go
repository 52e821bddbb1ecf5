package instanceproxy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// errOpen is why a request is not even tried.
var errOpen = errors.New("the circuit breaker is open")

// errInconclusive is the outcome of a request that does not show whether the instance answers.
var errInconclusive = errors.New("the request does not show whether the instance answers")

// breaker stops requests to an instance that does not answer, and finds out on its own
// when it does again: people's requests are never used to try.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[struct{}]
	// probe asks the instance for anything; nil when it answered.
	probe    func(context.Context) error
	interval time.Duration
	// life ends the probing.
	life    context.Context //nolint:containedctx // It is the breaker's own lifetime, not a request's.
	probing atomic.Bool
}

func newBreaker(life context.Context, failures int, interval time.Duration, probe func(context.Context) error, changed func(open bool)) *breaker {
	b := &breaker{probe: probe, interval: interval, life: life}
	wasOpen := false // The circuit calls with its own lock held.
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     interval,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(failures) },
		IsExcluded:  func(err error) bool { return errors.Is(err, errInconclusive) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			// Half open is a state of the probe; for people it is still open.
			if open := to != gobreaker.StateClosed; open != wasOpen {
				wasOpen = open
				changed(open)
			}
		},
	})
	return b
}

// open reports whether requests fail at once.
func (b *breaker) open() bool { return b.circuit.State() != gobreaker.StateClosed }

// allow returns the function that records the outcome of a request, or errOpen.
func (b *breaker) allow() (done func(error), err error) {
	if b.open() {
		// Nothing is left undone should the last prober have just ended.
		b.suspect()
		return nil, errOpen
	}
	report, err := b.circuit.Allow()
	if err != nil {
		b.suspect()
		return nil, errOpen
	}
	return func(err error) {
		report(err)
		if err != nil && !errors.Is(err, errInconclusive) {
			b.suspect()
		}
	}, nil
}

// suspect begins to probe, unless a probe runs.
func (b *breaker) suspect() {
	if b.life.Err() == nil && b.probing.CompareAndSwap(false, true) {
		go b.probeUntilAnswered()
	}
}

// probeUntilAnswered ends with the first answer that closes the circuit. Its
// failures count, so an instance that hangs is found out by one request that
// failed, however few people use it.
func (b *breaker) probeUntilAnswered() {
	defer b.probing.Store(false)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-b.life.Done():
			return
		case <-pause.C:
		}
		if report, err := b.circuit.Allow(); err == nil {
			ctx, cancel := context.WithTimeout(b.life, probeTimeout)
			err = b.probe(ctx)
			cancel()
			report(err)
			if err == nil && !b.open() {
				return
			}
		}
		pause.Reset(b.interval + b.interval/20) // The circuit must have half opened by then.
	}
}

// probeTimeout bounds one probe. It asks for the version, which costs nothing.
const probeTimeout = 5 * time.Second
