package projector

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics say how the projection is kept.
type Metrics struct {
	rows, differences prometheus.Counter

	mu sync.Mutex
	// lag is the age in seconds of the oldest change at a moment, pods that of the oldest change
	// of a pod; since then they have grown if the database could not be read.
	lag     float64
	pods    float64
	at      time.Time
	failing bool
}

// NewMetrics makes Metrics.
func NewMetrics() *Metrics {
	return &Metrics{
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kairship_projection_rows_total",
			Help: "Rows of the projection that were computed because an object had changed, whether the row did or not.",
		}),
		differences: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kairship_projection_differences_total",
			Help: "Rows of the projection that differed from the index although no change of theirs was waiting, and were repaired; there should be none.",
		}),
	}
}

// Collectors are what to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.rows, m.differences, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kairship_projection_lag_seconds",
		Help: "Age of the oldest change that is not in the projection yet; 0 when all are, and where this replica does not keep it.",
	}, func() float64 { return m.seconds(&m.lag) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kairship_projection_pods_lag_seconds",
		Help: "Age of the oldest change of a pod that is not in the projection yet; 0 when all are, and where this replica does not keep it.",
	}, func() float64 { return m.seconds(&m.pods) })}
}

func (m *Metrics) seconds(lag *float64) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing {
		return *lag + time.Since(m.at).Seconds()
	}
	return *lag
}

// Measured takes the lags that were measured now, of workloads and of pods.
func (m *Metrics) Measured(lag, pods float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lag, m.pods, m.at, m.failing = lag, pods, time.Now(), false
}

// Failed notes that the lag cannot be measured: from now on it grows.
func (m *Metrics) Failed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() {
		m.at = time.Now()
	}
	m.failing = true
}
