package instancestatus

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// states are served as metrics: one series for each instance.
var states = &stateMetric{desc: prometheus.NewDesc("kairship_instance_state",
	"1 for the state that an instance is in.", []string{"instance", "state"}, nil)}

func init() { metrics.Registry.MustRegister(states) }

// stateMetric is a collector and not a vector of gauges, because an instance must
// never be seen in two states, nor in none.
type stateMetric struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	byName map[string]v1alpha1.InstanceState
}

func (s *stateMetric) set(instance string, state v1alpha1.InstanceState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]v1alpha1.InstanceState{}
	}
	s.byName[instance] = state
}

func (s *stateMetric) forget(instance string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, instance)
}

// Describe is for prometheus.Collector.
func (s *stateMetric) Describe(to chan<- *prometheus.Desc) { to <- s.desc }

// Collect is for prometheus.Collector.
func (s *stateMetric) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	now := maps.Clone(s.byName)
	s.mu.Unlock()
	for instance, state := range now {
		to <- prometheus.MustNewConstMetric(s.desc, prometheus.GaugeValue, 1, instance, string(state))
	}
}
