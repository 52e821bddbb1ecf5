package freshness

import (
	"testing"
	"time"
)

func TestHeartbeat(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	h := NewHeartbeat(func() time.Time { return now })
	expect := func(at time.Time, missed bool, why string) {
		t.Helper()
		if gotAt, gotMissed := h.Last(); !gotAt.Equal(at) || gotMissed != missed {
			t.Errorf("last at %v, missed %v, want %v, %v: %s", gotAt, gotMissed, at, missed, why)
		}
	}
	expect(time.Time{}, false, "it was never heard of, nor missed")
	h.Beat(start)
	expect(start, false, "it lived then")
	h.Beat(start.Add(-time.Second))
	expect(start, false, "an older proof takes nothing back")
	now = start.Add(time.Second)
	h.Miss()
	expect(start, true, "it does not answer now")
	h.Beat(now.Add(-time.Millisecond))
	expect(now.Add(-time.Millisecond), true, "it lived before it did not answer")
	h.Beat(now.Add(time.Millisecond))
	expect(now.Add(time.Millisecond), false, "it lived after it did not answer")
}

func TestHeartbeatThatWasOnlyMissed(t *testing.T) {
	h := NewHeartbeat(time.Now)
	h.Miss()
	if at, missed := h.Last(); !at.IsZero() || !missed {
		t.Errorf("last at %v, missed %v", at, missed)
	}
}
