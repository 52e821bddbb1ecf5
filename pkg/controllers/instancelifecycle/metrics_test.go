package instancelifecycle

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestInstancesByReason(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	const installing, installed = "TestInstalling", "TestInstalled"
	for _, step := range []struct {
		reason          string
		instance, now   string
		installing, all float64
	}{
		{"it begins", "a", installing, 1, 0},
		{"looking again changes nothing", "a", installing, 1, 0},
		{"another one", "b", installing, 2, 0},
		{"one is done", "a", installed, 1, 1},
		{"one that was never counted is left out", "c", "", 1, 1},
		{"one is removed", "b", "", 0, 1},
		{"the other too", "a", "", 0, 0},
	} {
		m.count(step.instance, step.now)
		got, done := figure(t, registry, installing), figure(t, registry, installed)
		if got != step.installing || done != step.all {
			t.Errorf("%s: %v are being installed and %v are installed, want %v and %v", step.reason, got, done, step.installing, step.all)
		}
	}
}

func figure(t *testing.T, registry *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "kairship_managed_instances" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == reason {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}
