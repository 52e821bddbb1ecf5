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
	for _, tt := range []struct {
		name string
		hear func(*freshness.Heartbeat)
		// lived is how long ago the collector is known to have lived; negative when nothing is known.
		lived time.Duration
		why   string
	}{
		{"no Lease", func(*freshness.Heartbeat) {}, -1, "nothing proves that it lives"},
		{"found, alive", func(h *freshness.Heartbeat) { beatAsFound(h, renewed(3*time.Second), now) }, 3 * time.Second, "that is when it was renewed"},
		{"found, dead for long", func(h *freshness.Heartbeat) { beatAsFound(h, renewed(time.Hour), now) }, time.Hour, "finding it is no sign of life"},
		{"found, from the future", func(h *freshness.Heartbeat) { beatAsFound(h, renewed(-time.Hour), now) }, leaseTransit, "clocks differ"},
		{"found, never held", func(h *freshness.Heartbeat) { beatAsFound(h, &coordinationv1.Lease{}, now) }, -1, "no collector lived yet"},
		{"renewed", func(h *freshness.Heartbeat) { beatOnRenewal(h, renewed(4*time.Second), renewed(2*time.Second), now) }, 2 * time.Second, "all replicas take the time that the Lease says"},
		{"renewed, by a clock that is slow", func(h *freshness.Heartbeat) { beatOnRenewal(h, renewed(time.Hour), renewed(59*time.Minute), now) }, leaseTransit, "it lived when it sent that, whatever its clock says"},
		{"renewed, by a clock that is fast", func(h *freshness.Heartbeat) { beatOnRenewal(h, renewed(-time.Hour), renewed(-61*time.Minute), now) }, leaseTransit, "it lived when it sent that, whatever its clock says"},
		{"repeated", func(h *freshness.Heartbeat) { beatOnRenewal(h, renewed(4*time.Second), renewed(4*time.Second), now) }, -1, "the informer repeats what it knows"},
	} {
		h := freshness.NewHeartbeat(func() time.Time { return now })
		tt.hear(h)
		switch last, _ := h.Last(); {
		case last.IsZero() != (tt.lived < 0):
			t.Errorf("%s: last heard of at %v: %s", tt.name, last, tt.why)
		case tt.lived >= 0 && !last.Equal(now.Add(-tt.lived)):
			t.Errorf("%s: it lived %s ago, want %s: %s", tt.name, now.Sub(last), tt.lived, tt.why)
		}
	}
}

// A collector that takes over proves nothing about what the one before it wrote.
func TestCollectorTakesOver(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	lease := func(acquired, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			AcquireTime: &metav1.MicroTime{Time: now.Add(-acquired)}, RenewTime: &metav1.MicroTime{Time: now.Add(-renewed)},
		}}
	}
	h := freshness.NewHeartbeat(func() time.Time { return now })
	beatAsFound(h, lease(time.Hour, time.Minute), now)
	if began := h.Began(); !began.Equal(now.Add(-time.Hour)) {
		t.Errorf("found: it began at %s", began)
	}
	beatOnRenewal(h, lease(time.Hour, time.Minute), lease(time.Second, time.Second), now)
	if began := h.Began(); !began.Equal(now.Add(-time.Second)) {
		t.Errorf("taken over: it began at %s", began)
	}
}
