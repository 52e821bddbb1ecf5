package server

import "github.com/prometheus/client_golang/prometheus"

// limitMetrics count what limits refused. The labels are the limits' names alone.
type limitMetrics struct {
	refused *prometheus.CounterVec
}

func newLimitMetrics(registerer prometheus.Registerer) *limitMetrics {
	m := &limitMetrics{
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

func (m *limitMetrics) refuse(limit string) { m.refused.WithLabelValues(limit).Inc() }
