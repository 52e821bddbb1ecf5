package index

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of a Client. The label is a class of status, or a word.
type metrics struct {
	requests *prometheus.CounterVec
	duration prometheus.Histogram
	bytes    prometheus.Histogram
	waiting  prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	const namespace, subsystem = "kairship", "index"
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_total",
			Help: "Requests to the index, by class of status; code is timeout, canceled or error where there was no answer. Once a minute a refusal (4xx) is provoked, to find out what the index can do.",
		}, []string{"code"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_duration_seconds",
			Help:    "Time until an answer of the index was read to its end.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
		bytes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "response_bytes",
			Help: "Sizes of the answers of the index.", Buckets: prometheus.ExponentialBuckets(1<<10, 4, 9),
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_waiting", Help: "Requests to the index that are not answered yet.",
		}),
	}
	for _, code := range []string{"2xx", "timeout", "error"} {
		m.requests.WithLabelValues(code)
	}
	if registerer != nil {
		registerer.MustRegister(m.requests, m.duration, m.bytes, m.waiting)
	}
	return m
}

// begin counts a request; the function takes its outcome.
func (m *metrics) begin() func(ctx context.Context, size int, err error) {
	begun := time.Now()
	m.waiting.Inc()
	return func(ctx context.Context, size int, err error) {
		m.waiting.Dec()
		m.requests.WithLabelValues(codeOf(ctx, err)).Inc()
		m.duration.Observe(time.Since(begun).Seconds())
		if err == nil {
			m.bytes.Observe(float64(size))
		}
	}
}

// codeOf is what metrics report about the outcome of a request.
func codeOf(ctx context.Context, err error) string {
	switch status := statusOf(err); {
	case err == nil:
		return "2xx"
	case status != 0:
		return strconv.Itoa(status/100) + "xx"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "timeout"
	case errors.Is(ctx.Err(), context.Canceled):
		return "canceled"
	}
	return "error"
}
