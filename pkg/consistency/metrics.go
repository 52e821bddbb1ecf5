package consistency

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// caughtUp measures the index wait of operations that carry a consistency token.
var caughtUp = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: "kairship", Subsystem: "index", Name: "catch_up_seconds",
	Help:    "Time that an operation waited until the index had what its consistency token names (result index), or until that was read from instances (live).",
	Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5},
}, []string{"result"})

// Metrics are those of all operations of the process.
func Metrics() []prometheus.Collector { return []prometheus.Collector{caughtUp} }

func observe(begun time.Time, live bool) {
	result := "index"
	if live {
		result = "live"
	}
	caughtUp.WithLabelValues(result).Observe(time.Since(begun).Seconds())
}
