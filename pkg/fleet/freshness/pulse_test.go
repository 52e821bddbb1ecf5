package freshness

import (
	"testing"
	"time"
)

func TestPulse(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	p := NewPulse(func() time.Time { return now }, 15*time.Second)
	if _, lost := p.Lost(); lost {
		t.Error("what was never heard of may not exist; it is not lost")
	}
	p.Beat(start)
	now = start.Add(15 * time.Second)
	if _, lost := p.Lost(); lost {
		t.Error("the silence is allowed in full")
	}
	now = start.Add(16 * time.Second)
	if last, lost := p.Lost(); !lost || !last.Equal(start) {
		t.Errorf("after more than the silence it is lost since its last beat; got %v, %v", last, lost)
	}
	p.Beat(now.Add(-time.Second))
	if _, lost := p.Lost(); lost {
		t.Error("a beat brings it back")
	}

	now = now.Add(time.Second)
	p.Miss()
	if last, lost := p.Lost(); !lost || !last.Equal(now.Add(-2*time.Second)) {
		t.Errorf("what does not answer is lost at once, since its last beat; got %v, %v", last, lost)
	}
	p.Beat(now.Add(-time.Millisecond))
	if _, lost := p.Lost(); !lost {
		t.Error("that it lived before it did not answer is no news")
	}
	p.Beat(now.Add(time.Millisecond))
	if _, lost := p.Lost(); lost {
		t.Error("it lived after it did not answer")
	}
}

func TestPulseThatWasOnlyMissed(t *testing.T) {
	p := NewPulse(time.Now, time.Minute)
	p.Miss()
	if _, lost := p.Lost(); lost {
		t.Error("what was never heard of may not exist; it is not lost")
	}
}
