package instancelifecycle

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	// changes counts what the operator was asked for.
	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_managed_instance_changes_total",
		Help: "What was asked of the Karmada operator: created, changed, taken-over, retained, uninstalled.",
	}, []string{"change"})

	// instances counts the Managed instances by how far they are.
	instances = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kairship_managed_instances",
		Help: "Managed instances by the reason of their condition Installed.",
	}, []string{"installed"})

	// installationSeconds is how long first installations took.
	installationSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "kairship_managed_instance_installation_seconds",
		Help:    "Time from the creation of a Managed Instance until it was installed for the first time.",
		Buckets: []float64{30, 60, 120, 180, 300, 600, 1200, 3600},
	})
)

// registerMetrics adds the metrics to those that the manager serves.
func registerMetrics() error {
	for _, change := range []string{"created", "changed", "taken-over", "retained", "uninstalled"} {
		changes.WithLabelValues(change)
	}
	for _, metric := range []prometheus.Collector{changes, instances, installationSeconds} {
		err := metrics.Registry.Register(metric)
		if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
			continue // By another manager in this process, in tests.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stateCounts knows in which of the instances' figures each Managed one is.
type stateCounts struct {
	mu      sync.Mutex
	reasons map[string]string
}

// count puts an instance where it belongs; nowhere when the reason is empty.
func (c *stateCounts) count(instance, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.reasons[instance]
	if before == reason {
		return
	}
	if before != "" {
		instances.WithLabelValues(before).Dec()
		delete(c.reasons, instance)
	}
	if reason != "" {
		if c.reasons == nil {
			c.reasons = map[string]string{}
		}
		c.reasons[instance] = reason
		instances.WithLabelValues(reason).Inc()
	}
}
