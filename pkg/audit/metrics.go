package audit

import "github.com/prometheus/client_golang/prometheus"

var decided = prometheus.NewCounterVec(prometheus.CounterOpts{
	Namespace: "kairship", Subsystem: "audit", Name: "decisions_total",
	Help: "Operations of known callers that are over, by the way in and by what was decided about their permissions.",
}, []string{"via", "decision"})

// Metrics are those of all operations of the process.
func Metrics() []prometheus.Collector { return []prometheus.Collector{decided} }
