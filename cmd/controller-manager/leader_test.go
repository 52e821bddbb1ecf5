package main

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// memory is a Lease without a server.
type memory struct {
	resourcelock.Interface
	holder string
	fails  error
}

func (m *memory) Identity() string { return "us" }

func (m *memory) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: m.holder}, nil, m.fails
}

func (m *memory) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return m.Update(context.Background(), record)
}

func (m *memory) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if m.fails == nil {
		m.holder = record.HolderIdentity
	}
	return m.fails
}

func TestLock(t *testing.T) {
	take := func(ctx context.Context, l *lock, _ *memory) {
		_ = l.Update(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "us"})
	}
	others := func(_ context.Context, _ *lock, m *memory) { m.holder = "others" }
	// end is how an election ends: it looks once more, and gives back what it had.
	end := func(ctx context.Context, l *lock, _ *memory) {
		_, _, _ = l.Get(ctx)
		_ = l.Update(ctx, resourcelock.LeaderElectionRecord{})
	}
	for _, c := range []struct {
		reason string
		steps  []func(context.Context, *lock, *memory)
		lost   bool
		holder string
	}{
		{reason: "one that waits for its turn has lost nothing", steps: []func(context.Context, *lock, *memory){others}, holder: "others"},
		{reason: "one that leads has not", steps: []func(context.Context, *lock, *memory){take}, holder: "us"},
		{reason: "one whose Lease another one took has", steps: []func(context.Context, *lock, *memory){take, others}, lost: true, holder: "others"},
		{reason: "one that gave it back has not", steps: []func(context.Context, *lock, *memory){take, end}},
		{reason: "nor once another one took it", steps: []func(context.Context, *lock, *memory){take, end, others}, holder: "others"},
		{reason: "what another one took is not given back", steps: []func(context.Context, *lock, *memory){take, others, end}, lost: true, holder: "others"},
		{reason: "nor is it by one that never led", steps: []func(context.Context, *lock, *memory){others, end}, holder: "others"},
		{reason: "one that could not take it has not", steps: []func(context.Context, *lock, *memory){func(ctx context.Context, l *lock, m *memory) {
			m.fails = errors.New("conflict")
			take(ctx, l, m)
			m.fails = nil
		}, others}, holder: "others"},
		{reason: "the leader is unknown while the server is away", steps: []func(context.Context, *lock, *memory){take, others, func(_ context.Context, _ *lock, m *memory) {
			m.fails = errors.New("away")
		}}, holder: "others"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m, reported := &memory{}, 0
			l := &lock{Interface: m, lost: func(error) { reported++ }}
			for _, step := range c.steps {
				step(t.Context(), l, m)
			}
			for range 2 { // It is told once.
				_, _, _ = l.Get(t.Context())
			}
			if want := map[bool]int{true: 1}[c.lost]; reported != want {
				t.Errorf("told %d times that it is lost, want %d", reported, want)
			}
			if m.holder != c.holder {
				t.Errorf("the Lease is held by %q, want %q", m.holder, c.holder)
			}
		})
	}
}
