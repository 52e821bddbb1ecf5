package passthrough

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are those of the passthrough itself; package instanceproxy measures its requests to
// instances. Label values are Kairship's own words, never a client's.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	const namespace, subsystem = "kairship", "passthrough"
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "requests_total",
			Help: "Requests to the native APIs of instances that are over, by verb (watch, exec and the like are stream) and class of status.",
		}, []string{"verb", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "request_duration_seconds",
			Help:    "Time from a request to the end of its answer, of those that the client does not cancel.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"verb"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.requests, m.duration)
	}
	return m
}

// done counts a request that is over.
func (m *metrics) done(is request, lasts bool, status int, took time.Duration) {
	verb := is.verb
	switch {
	case verb == "":
		verb = "other"
	case lasts:
		verb = "stream"
	}
	m.requests.WithLabelValues(verb, strconv.Itoa(status/100)+"xx").Inc()
	if !lasts {
		m.duration.WithLabelValues(verb).Observe(took.Seconds())
	}
}

// outcomeOf says in a word what became of a request.
func outcomeOf(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "failed"
	case status >= http.StatusBadRequest:
		return "refused"
	}
	return "ok"
}
