package truth

import (
	"strings"
	"testing"
	"time"
)

func TestOverclaims(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	// says is an answer that was asked for and received a tenth of a second later, about an observation.
	says := func(cluster string, sent, observed float64, stale bool) fresh {
		when, lag := at(observed), sent+0.05-observed
		return fresh{
			By: "list", Clusters: []string{cluster}, Sent: at(sent), Received: at(sent + 0.1),
			freshness: freshness{Source: "INDEX", ObservedAt: &when, Lag: &lag, Stale: stale},
		}
	}
	but := func(f fresh, change func(*fresh)) fresh { change(&f); return f }
	down := []outage{{"m1", at(100), at(110)}, {collector, at(200), at(210)}}
	const bound = 20 * time.Second
	for _, tt := range []struct {
		name   string
		claims []fresh
		want   string
		why    string
	}{
		{"fresh", []fresh{says("m1", 50, 49, false)}, "", "it was in touch a second before"},
		{"observed in an outage", []fresh{says("m1", 105, 102, false)}, "m1 was gone", "the collector cannot have been in touch with it then"},
		{"the same, said to be stale", []fresh{says("m1", 105, 102, true)}, "m1 was gone", "observedAt is a promise of its own"},
		{"observed in an outage, said afterwards", []fresh{says("m1", 115, 109, false)}, "", "it has been read again since, with everything from meanwhile"},
		{"observed before", []fresh{says("m1", 105, 100, false)}, "", "it stands still at the last moment at which it lived"},
		{"observed after", []fresh{says("m1", 115, 111, false)}, "", "it has been started again"},
		{"another cluster", []fresh{says("m2", 105, 102, false)}, "", "m2 was not gone"},
		{"without the collector", []fresh{says("m2", 205, 202, false)}, "the collector was gone", "what is not collected is not observed"},
		{"live without the collector", []fresh{but(says("m2", 205, 202, false), func(f *fresh) { f.Source = "LIVE" })}, "", "what is read live needs no collector"},
		{"backwards", []fresh{says("m1", 50, 49, false), says("m1", 52, 48, false)}, "went back: by 1s", "what was known to be true then still is"},
		{"never after a moment", []fresh{says("m1", 50, 49, false), but(says("m1", 52, 0, true), func(f *fresh) { f.ObservedAt, f.Lag = nil, nil })}, "", "a server that has just begun has no proof yet, and reports that it is stale"},
		{"side by side", []fresh{says("m1", 50, 49, false), says("m1", 50.05, 48, false)}, "", "the second was asked for before the first was answered"},
		{"other fields", []fresh{says("m1", 50, 49, false), but(says("m1", 52, 48, false), func(f *fresh) { f.By = "get" })}, "", "each field is compared with itself: one is about more than the other"},
		{"from the index after live", []fresh{but(says("m1", 50, 49.9, false), func(f *fresh) { f.Source = "LIVE" }), says("m1", 52, 48, false)}, "", "the index is behind what was read live"},
		{"of the future", []fresh{says("m1", 50, 50.2, false)}, "observed after it was received", "that has not happened yet"},
		{"a lag too small", []fresh{but(says("m1", 50, 40, false), func(f *fresh) { *f.Lag = 0.00004 })}, "a lag between 10s and 10.1s", "lag and observedAt disagree"},
		{"a lag too large", []fresh{but(says("m1", 50, 49, false), func(f *fresh) { *f.Lag = 7 })}, "a lag between 1s and 1.1s", "lag and observedAt disagree"},
		{"only one of", []fresh{but(says("m1", 50, 49, false), func(f *fresh) { f.Lag = nil })}, "only one of", "what was observed has an age"},
		{"not stale", []fresh{says("m1", 50, 25, false)}, "stale begins at 20s", "so old an answer is stale"},
		{"stale", []fresh{says("m1", 50, 25, true)}, "", "and says so"},
		{"never observed", []fresh{but(says("m1", 50, 0, true), func(f *fresh) { f.ObservedAt, f.Lag = nil, nil })}, "", "there is nothing to promise"},
		{"never observed and fresh", []fresh{but(says("m1", 50, 0, false), func(f *fresh) { f.ObservedAt, f.Lag = nil, nil })}, "never observed is not stale", "what was never observed is not fresh"},
	} {
		var all []string
		for _, one := range overclaims(tt.claims, down, bound) {
			all = append(all, one.String())
		}
		got := strings.Join(all, "\n")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %q, want %q", tt.name, tt.why, got, tt.want)
		}
	}
}

func TestMissing(t *testing.T) {
	line, key := newTimeline(), objectKey{"m1", kindDeployment, "web"}
	line.add(key, version{Revision: 10, Fact: 1})
	line.add(key, version{Revision: 20, Fact: 2})
	line.add(key, version{Revision: 30})
	for _, tt := range []struct {
		version, until int64
		want           string
		why            string
	}{
		{20, 29, "", "it is the newest one"},
		{20, 15, "", "it is newer than what was promised"},
		{10, 19, "", "it changed after the moment that was promised"},
		{10, 20, "changed at [20]", "it changed before the moment that was promised"},
		{20, 30, "changed at [30]", "it was deleted before"},
	} {
		got := missing(line, shown{Object: key, Version: tt.version}, tt.until)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("version %d until %d: %s: %q, want %q", tt.version, tt.until, tt.why, got, tt.want)
		}
	}
}
