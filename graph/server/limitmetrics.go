package server

import "github.com/prometheus/client_golang/prometheus"

// limitMetrics count what limits refused. The labels are the limits' names alone.
type limitMetrics struct {
	refused *prometheus.CounterVec
	// persisted are lookups of documents by their hash.
	persisted *prometheus.CounterVec
}

func newLimitMetrics(registerer prometheus.Registerer) *limitMetrics {
	m := &limitMetrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kairship", Subsystem: "limit", Name: "refused_total",
			Help: "Requests that a limit refused, by the limit.",
		}, []string{"limit"}),
		persisted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "kairship", Subsystem: "persisted_documents", Name: "lookups_total",
			Help: "Documents that clients named by a hash, by whether the server had them.",
		}, []string{"result"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.refused, m.persisted)
	}
	for _, limit := range []string{"concurrency", "streams", "rate", "cost", "memory", "operation_memory", "depth", "fields", "aliases", "root_fields", "complexity", "document", "input", "origin", "preflight", "trusted"} {
		m.refused.WithLabelValues(limit)
	}
	return m
}

func (m *limitMetrics) refuse(limit string) { m.refused.WithLabelValues(limit).Inc() }
