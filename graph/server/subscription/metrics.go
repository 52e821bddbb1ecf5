package subscription

import "github.com/prometheus/client_golang/prometheus"

// metrics count the open subscriptions and the reasons why they ended. No label has the name of a
// user or an instance.
type metrics struct {
	connections   *prometheus.GaugeVec
	subscriptions *prometheus.GaugeVec
	events        *prometheus.CounterVec
	ends          *prometheus.CounterVec
	refused       *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	const namespace, subsystem, transport, reason = "kairship", "stream", "transport", "reason"
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}
	}
	m := &metrics{
		connections:   prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("connections", "Open connections of known callers.")), []string{transport}),
		subscriptions: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("subscriptions", "Open subscriptions.")), []string{transport}),
		events:        prometheus.NewCounterVec(prometheus.CounterOpts(opts("events_total", "Results of subscriptions that were sent.")), []string{transport}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts(opts("ends_total",
			"Subscriptions that ended, by the reason.")), []string{transport, reason}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts(opts("refused_total",
			"Connections and subscriptions that a limit refused.")), []string{transport, reason}),
	}
	if registerer != nil {
		registerer.MustRegister(m.connections, m.subscriptions, m.events, m.ends, m.refused)
	}
	for _, via := range []string{ViaSSE, ViaWebSocket} {
		m.connections.WithLabelValues(via)
		m.subscriptions.WithLabelValues(via)
		m.events.WithLabelValues(via)
		m.ends.WithLabelValues(via, ErrCompleted.Reason)
		m.refused.WithLabelValues(via, "subscriptions")
	}
	return m
}
