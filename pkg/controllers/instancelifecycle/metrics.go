package instancelifecycle

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are what the life cycle of instances is measured by.
type Metrics struct {
	// changes counts what the operator was asked for.
	changes *prometheus.CounterVec
	// instances counts the Managed instances by how far they are.
	instances *prometheus.GaugeVec
	// installationSeconds is how long first installations took.
	installationSeconds prometheus.Histogram

	mu sync.Mutex
	// reasons are those of the condition Installed, by instance.
	reasons map[string]string
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	register := promauto.With(registry)
	m := &Metrics{
		reasons: map[string]string{},
		changes: register.NewCounterVec(prometheus.CounterOpts{
			Name: "kairship_managed_instance_changes_total",
			Help: "What was asked of the Karmada operator: created, changed, taken-over, retained, uninstalled.",
		}, []string{"change"}),
		instances: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kairship_managed_instances",
			Help: "Managed instances by the reason of their condition Installed.",
		}, []string{"installed"}),
		installationSeconds: register.NewHistogram(prometheus.HistogramOpts{
			Name:    "kairship_managed_instance_installation_seconds",
			Help:    "Time from the creation of a Managed Instance until it was installed for the first time.",
			Buckets: []float64{30, 60, 120, 180, 300, 600, 1200, 3600},
		}),
	}
	for _, change := range []string{"created", "changed", "taken-over", "retained", "uninstalled"} {
		m.changes.WithLabelValues(change)
	}
	return m
}

// count puts an instance where it belongs; nowhere when the reason is empty.
func (m *Metrics) count(instance, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.reasons[instance]
	if before == reason {
		return
	}
	if before != "" {
		m.instances.WithLabelValues(before).Dec()
		delete(m.reasons, instance)
	}
	if reason != "" {
		m.reasons[instance] = reason
		m.instances.WithLabelValues(reason).Inc()
	}
}
