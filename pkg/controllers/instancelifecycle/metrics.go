package instancelifecycle

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	// changes counts what the operator was asked for.
	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_managed_instance_changes_total",
		Help: "What was asked of the Karmada operator: created, changed, taken-over, retained, uninstalled.",
	}, []string{"change"})

	// installationSeconds is how long first installations took.
	installationSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "kairship_managed_instance_installation_seconds",
		Help:    "Time from the creation of a Managed Instance until it was installed for the first time.",
		Buckets: []float64{30, 60, 120, 180, 300, 600, 1200, 3600},
	})
)

// registerMetrics adds the metrics to those that the manager serves.
func registerMetrics() error {
	for _, metric := range []prometheus.Collector{changes, installationSeconds} {
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
