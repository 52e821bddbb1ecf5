package freshness

import (
	"fmt"
	"time"
)

// Source is where an answer was read.
type Source string

// The sources.
const (
	SourceIndex Source = "INDEX"
	SourceLive  Source = "LIVE"
)

// Freshness is how old an answer may be.
type Freshness struct {
	Source Source
	// ObservedAt is the latest moment up to which everything that happened is known to
	// be in the answer; nil when no such moment is known.
	ObservedAt *time.Time
	// Lag is the seconds from ObservedAt to the answer.
	Lag *float64
	// Stale reports that collection from a cluster concerned fails, or that Lag
	// exceeds StaleAfter.
	Stale bool
	// Message says what fails, for a person.
	Message *string
}

// StaleAfter is the longest lag of an answer that is not stale.
const StaleAfter = 30 * time.Second

// LiveAt is the freshness of what was read from its own cluster by a request that was
// sent at a moment.
func LiveAt(at time.Time) Freshness {
	return Freshness{Source: SourceLive, ObservedAt: &at, Lag: new(float64)}
}

// Followed is the freshness, at a moment, of what a watch on its own cluster shows: a
// change takes up to a second to get here. A watch that breaks is not part of it;
// the subscription says INTERRUPTED then.
func Followed(now time.Time) Freshness {
	at, lag := now.Add(-delivery), delivery.Seconds()
	return Freshness{Source: SourceLive, ObservedAt: &at, Lag: &lag}
}

// Overlaid is the freshness of a list in which some objects were read from their
// own clusters: what they are is known, and the rest is as old as it was.
func (f Freshness) Overlaid() Freshness {
	f.Source = SourceLive
	return f
}

// AsOf is the freshness, now, of an answer that shows what the index had at a moment; the
// same for no moment.
func (f Freshness) AsOf(at, now time.Time) Freshness {
	if at.IsZero() || f.ObservedAt == nil || !at.Before(*f.ObservedAt) {
		return f
	}
	lag := now.Sub(at)
	f.ObservedAt, f.Lag = &at, new(lag.Seconds())
	if !f.Stale && lag > StaleAfter {
		f.Stale, f.Message = true, new(fmt.Sprintf("the tables of workloads and pods in the index's database are %s late", lag.Round(time.Second)))
	}
	return f
}
