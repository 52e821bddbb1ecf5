package live

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// values are the metrics of a registry by name and labels.
func values(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if v := m.GetGauge().GetValue() + m.GetCounter().GetValue(); v != 0 {
				out[name] = v
			}
		}
	}
	return out
}

// TestNothingIsLeft subscribes and closes ten thousand times, with and without reading.
func TestNothingIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		registry := prometheus.NewRegistry()
		h := w.hub(Options{IdleTimeout: time.Minute, Registerer: registry})
		w.cluster(alpha).put("n", "a", nil, 0)
		keeping := w.subscribe(h, everything(alpha))
		keeping.until(Synced)
		for i := range 10_000 {
			s, err := h.Subscribe(t.Context(), everything(alpha))
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				if _, err := s.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
		}
		want := map[string]float64{
			"kairship_live_watches": 1, "kairship_live_streams": 1,
			"kairship_live_feeds instance deployments.apps": 1, "kairship_live_objects instance deployments.apps": 1,
			"kairship_live_subscribers instance deployments.apps": 1,
			"kairship_live_events_total ADDED":                    5001, "kairship_live_events_total SYNCED": 1,
			"kairship_live_streams_ended_total closed": 10_000,
		}
		if diff := cmp.Diff(want, values(t, registry)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		keeping.stream.Close()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for name, v := range values(t, registry) {
			switch name {
			case "kairship_live_events_total ADDED", "kairship_live_events_total SYNCED", "kairship_live_streams_ended_total closed":
			default:
				t.Errorf("%s is %v when everybody has left", name, v)
			}
		}
		if n := w.cluster(alpha).open(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
	})
}

// TestDelay measures from hearing of the first change that waits to its being read.
func TestDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		registry := prometheus.NewRegistry()
		h := w.hub(Options{Registerer: registry})
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		s := w.subscribe(h, everything(alpha))
		s.until(Synced)
		if count, _ := delay(t, registry); count != 0 {
			t.Errorf("%d delays of what was there before", count)
		}
		c.put("n", "a", nil, 1)
		time.Sleep(300 * time.Millisecond)
		c.put("n", "a", nil, 2)
		c.put("n", "b", nil, 0)
		time.Sleep(200 * time.Millisecond)
		s.until(Modified)
		s.until(Added)
		if count, sum := delay(t, registry); count != 1 || sum != 0.5 {
			t.Errorf("%d delays of %v s in sum, want one of 0.5 s", count, sum)
		}
		time.Sleep(time.Minute)
		c.put("n", "b", nil, 1)
		synctest.Wait()
		s.until(Modified)
		if count, sum := delay(t, registry); count != 2 || sum != 0.5 {
			t.Errorf("%d delays of %v s in sum, want a second one of nothing", count, sum)
		}
	})
}

func delay(t *testing.T, registry *prometheus.Registry) (count uint64, sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "kairship_live_delay_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	t.Fatal("no delays are measured")
	return 0, 0
}
