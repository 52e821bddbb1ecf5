package loaders

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/tracing"
)

var batchSize = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: "kairship", Subsystem: "loader", Name: "batch_size",
	Help: "Rows that were asked of the index together, by what they are.", Buckets: []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000},
}, []string{"loader"})

// Metrics are those of the loaders of all operations.
func Metrics() []prometheus.Collector { return []prometheus.Collector{batchSize} }

// observed returns a fetch that is counted and recorded in the trace of its operation.
func observed[K comparable, V any](name string, f fetch[K, V]) fetch[K, V] {
	sizes := batchSize.WithLabelValues(name)
	return func(ctx context.Context, keys []K) (map[K]V, error) {
		sizes.Observe(float64(len(keys)))
		ctx, span := tracing.Start(ctx, "load", tracing.Internal)
		span.Text(tracing.Loader, name)
		span.Number(tracing.BatchSize, len(keys))
		rows, err := f(ctx, keys)
		if err != nil {
			span.Fail("failed")
		}
		span.End()
		return rows, err
	}
}
