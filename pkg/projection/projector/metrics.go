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
	// lag is the age in seconds of the oldest change at a moment; since then it has grown
	// if the database could not be read.
	lag     float64
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
	}, m.seconds)}
}

func (m *Metrics) seconds() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing {
		return m.lag + time.Since(m.at).Seconds()
	}
	return m.lag
}

// Measured takes the lag that was measured now.
func (m *Metrics) Measured(lag float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lag, m.at, m.failing = lag, time.Now(), false
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
