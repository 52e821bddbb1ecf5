package freshness

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

var (
	clustersDesc = prometheus.NewDesc("kairship_index_clusters",
		"Clusters that the index collects from, by whether what it has of them is fresh or stale.", []string{"state"}, nil)
	lagDesc = prometheus.NewDesc("kairship_index_lag_seconds",
		"How old what the index has of a cluster may be, of the cluster that is most behind; clusters that were never collected are not in it.", nil, nil)
)

// Metrics returns a collector of the values that Of returns for operations. It reads caches, and
// sends no request.
func (t *Tracker) Metrics() prometheus.Collector { return trackerMetrics{t} }

type trackerMetrics struct{ tracker *Tracker }

// Describe implements prometheus.Collector.
func (trackerMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- clustersDesc
	out <- lagDesc
}

// scrapeTimeout bounds reading what is watched.
const scrapeTimeout = 2 * time.Second

// Collect implements prometheus.Collector.
func (m trackerMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	var all pediav1alpha2.PediaClusterList
	if err := m.tracker.Inventory.List(ctx, &all); err != nil {
		return // There is no figure then, which is what is true.
	}
	var stale, fresh, most float64
	for i := range all.Items {
		of := m.tracker.Of(ctx, all.Items[i].Name)
		if of.Stale {
			stale++
		} else {
			fresh++
		}
		if of.Lag != nil {
			most = max(most, *of.Lag)
		}
	}
	out <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, stale, "stale")
	out <- prometheus.MustNewConstMetric(clustersDesc, prometheus.GaugeValue, fresh, "fresh")
	out <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, most)
}
