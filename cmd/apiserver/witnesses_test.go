package main

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

func TestCollectorIsHeardOf(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	renewed := func(ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now.Add(-ago)}}}
	}
	const silence = 15 * time.Second
	for _, tt := range []struct {
		name string
		hear func(*freshness.Pulse)
		// lived is how long ago the collector is known to have lived; zero when nothing is known.
		lived time.Duration
		why   string
	}{
		{"no Lease", func(*freshness.Pulse) {}, 0, "an index may have no such Lease"},
		{"found, alive", func(p *freshness.Pulse) { beatAsFound(p, renewed(3*time.Second), now) }, 3 * time.Second, "that is when it was renewed"},
		{"found, dead for long", func(p *freshness.Pulse) { beatAsFound(p, renewed(time.Hour), now) }, time.Hour, "finding it is no life sign"},
		{"found, from the future", func(p *freshness.Pulse) { beatAsFound(p, renewed(-time.Hour), now) }, leaseTransit, "clocks differ"},
		{"found, never held", func(p *freshness.Pulse) { beatAsFound(p, &coordinationv1.Lease{}, now) }, 0, "nobody lived yet"},
		{"renewed", func(p *freshness.Pulse) { beatOnRenewal(p, renewed(4*time.Second), renewed(2*time.Second), now) }, leaseTransit, "it lived when it sent that, whatever its clock says"},
		{"repeated", func(p *freshness.Pulse) { beatOnRenewal(p, renewed(4*time.Second), renewed(4*time.Second), now) }, 0, "the informer repeats what it knows"},
	} {
		clock := now
		p := freshness.NewPulse(func() time.Time { return clock }, silence)
		tt.hear(p)
		if _, lost := p.Lost(); lost != (tt.lived > silence) {
			t.Errorf("%s: lost %v at once: %s", tt.name, lost, tt.why)
		}
		clock = now.Add(time.Minute)
		last, lost := p.Lost()
		switch {
		case lost != (tt.lived > 0):
			t.Errorf("%s: lost %v after a minute: %s", tt.name, lost, tt.why)
		case lost && !last.Equal(now.Add(-tt.lived)):
			t.Errorf("%s: it lived %s ago, want %s: %s", tt.name, now.Sub(last), tt.lived, tt.why)
		}
	}
}
