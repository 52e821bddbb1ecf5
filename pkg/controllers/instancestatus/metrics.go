package instancestatus

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Metrics are the states of instances: one series for each. It is a collector and not a vector of
// gauges, because an instance must never be seen in two states, nor in none.
type Metrics struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	byName map[string]v1alpha1.InstanceState
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{byName: map[string]v1alpha1.InstanceState{}, desc: prometheus.NewDesc("kairship_instance_state",
		"1 for the state that an instance is in.", []string{"instance", "state"}, nil)}
	registry.MustRegister(m)
	return m
}

func (m *Metrics) set(instance string, state v1alpha1.InstanceState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byName[instance] = state
}

func (m *Metrics) forget(instance string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, instance)
}

// Describe is for prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { to <- m.desc }

// Collect is for prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	now := maps.Clone(m.byName)
	m.mu.Unlock()
	for instance, state := range now {
		to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, 1, instance, string(state))
	}
}
