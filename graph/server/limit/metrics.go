package limit

import "github.com/prometheus/client_golang/prometheus"

// Metrics count what limits refused. The labels are the limits' names alone.
type Metrics struct {
	refused *prometheus.CounterVec
}

// NewMetrics returns metrics with a series for each limit.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kairship", Subsystem: "limit", Name: "refused_total",
			Help: "Requests that a limit refused, by the limit.",
		}, []string{"limit"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.refused)
	}
	for _, limit := range []string{"concurrency", "streams", "rate", "cost", "memory", "operation_memory", "depth", "fields", "aliases", "root_fields", "complexity", "document", "input", "origin", "preflight", "trusted"} {
		m.refused.WithLabelValues(limit)
	}
	return m
}

// Refuse counts a request that a limit refused.
func (m *Metrics) Refuse(limit string) { m.refused.WithLabelValues(limit).Inc() }
