package truth

import (
	"fmt"
	"slices"
	"time"
)

// freshness is what an answer says about its age.
type freshness struct {
	Source     string     `json:"source"`
	ObservedAt *time.Time `json:"observedAt"`
	Lag        *float64   `json:"lag"`
	Stale      bool       `json:"stale"`
	Message    *string    `json:"message"`
}

// fresh is a claim about age.
type fresh struct {
	// By says which field of which answer made it. Claims of one field and source are
	// compared with each other: what is read live is newer than the index is.
	By string
	// Clusters are those that the answer is about.
	Clusters       []string
	Sent, Received time.Time
	freshness
}

// collector stands for the process that fills the index in outages.
const collector = "the collector"

// outage is when the API server of a cluster, or the collector, did not run: from a
// moment at which it was stopped to one at which it was not yet started again.
type outage struct {
	Of       string
	From, To time.Time
}

// rounding is what times and lags lose on their way through JSON.
const rounding = time.Millisecond

// overclaimed is a false claim about age: what kind of problem it is, and which exactly.
type overclaimed struct {
	fresh
	problem, detail string
}

func (o overclaimed) String() string {
	return fmt.Sprintf("%s: %s: %s about %v, sent %s, received %s: source %s, observedAt %s, lag %s, stale %v, message %q", o.problem, o.detail, o.By, o.Clusters,
		stamp(&o.Sent), stamp(&o.Received), o.Source, stamp(o.ObservedAt), seconds(o.Lag), o.Stale, text(o.Message))
}

// overclaims are the claims about age that are false, by when they were asked for.
// staleAfter is the lag from which on an answer has to be stale.
func overclaims(claims []fresh, outages []outage, staleAfter time.Duration) []overclaimed {
	var found []overclaimed
	sent, received := slices.Clone(claims), slices.Clone(claims)
	slices.SortStableFunc(sent, func(a, b fresh) int { return a.Sent.Compare(b.Sent) })
	slices.SortStableFunc(received, func(a, b fresh) int { return a.Received.Compare(b.Received) })
	latest := map[[2]string]fresh{}
	for _, c := range sent {
		// A claim is compared with what was known when it was asked for.
		for ; len(received) > 0 && !received[0].Received.After(c.Sent); received = received[1:] {
			before, key := received[0], [2]string{received[0].By, received[0].Source}
			if known, ok := latest[key]; before.ObservedAt != nil && (!ok || known.ObservedAt.Before(*before.ObservedAt)) {
				latest[key] = before
			}
		}
		problem, detail := overclaim(c, outages, staleAfter)
		if known, ok := latest[[2]string{c.By, c.Source}]; ok && problem == "" {
			problem, detail = backwards(c, known)
		}
		if problem != "" {
			found = append(found, overclaimed{c, problem, detail})
		}
	}
	return found
}

// backwards says how a claim contradicts one that was received before it was asked for.
// One of never claims nothing: a server that has just begun has no proof yet.
func backwards(c, known fresh) (problem, detail string) {
	if c.ObservedAt == nil || !c.ObservedAt.Before(*known.ObservedAt) {
		return "", ""
	}
	return "observedAt went back", fmt.Sprintf("by %s, from %s, received %s", known.ObservedAt.Sub(*c.ObservedAt), stamp(known.ObservedAt), stamp(&known.Received))
}

// overclaim says what is wrong with a claim, taken alone.
func overclaim(c fresh, outages []outage, staleAfter time.Duration) (problem, detail string) {
	switch {
	case c.ObservedAt == nil && !c.Stale:
		return "what was never observed is not stale", ""
	case c.ObservedAt == nil && c.Lag != nil, c.ObservedAt != nil && c.Lag == nil:
		return "only one of observedAt and lag is there", ""
	case c.ObservedAt == nil:
		return "", ""
	}
	at, lag := *c.ObservedAt, time.Duration(*c.Lag*float64(time.Second))
	for _, o := range outages {
		concerned := slices.Contains(c.Clusters, o.Of) || (o.Of == collector && c.Source == "INDEX")
		// Once the source is back and was read again, everything from meanwhile is in the
		// answer; whether it is, missing decides.
		if concerned && at.After(o.From) && c.Received.Before(o.To) {
			return "it was observed after its source was stopped", fmt.Sprintf("%s was gone from %s, %s before observedAt, to %s", o.Of, stamp(&o.From), at.Sub(o.From), stamp(&o.To))
		}
	}
	least, most := c.Sent.Sub(at), c.Received.Sub(at)
	switch {
	case most < 0:
		return "it was observed after it was received", ""
	case lag+rounding < least, lag-rounding > most:
		return "observedAt and lag disagree", fmt.Sprintf("a lag between %s and %s were true", max(0, least), most)
	case !c.Stale && staleAfter > 0 && lag > staleAfter:
		return "so old an answer is not stale", fmt.Sprintf("stale begins at %s", staleAfter)
	}
	return "", ""
}

// shown is a version of an object in an answer, which promises that everything until
// observedAt is in it.
type shown struct {
	By         string
	Object     objectKey
	Version    int64
	ObservedAt time.Time
}

// missing says what an answer does not show although it happened until a revision, at
// which etcd was by the answer's observedAt; empty when nothing is missing.
func missing(t *timeline, s shown, until int64) string {
	changes := t.changes(s.Object, s.Version, until)
	if len(changes) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, observedAt %s, which is after revision %d: %s %s in %s is shown at version %d, and changed at %v", s.By, stamp(&s.ObservedAt), until,
		s.Object.Kind, s.Object.Name, s.Object.Cluster, s.Version, changes)
}

func stamp(t *time.Time) string {
	if t == nil {
		return "null"
	}
	return t.UTC().Format("15:04:05.000000")
}

func seconds(s *float64) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%.6f", *s)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
