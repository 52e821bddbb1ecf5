package instanceproxy

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	metricsNamespace = "kairship"
	metricsSubsystem = "instance"
)

// metrics are those of all instances. Labels are bounded: instances that exist
// and were used, three ways, four kinds of verb, and classes of status.
type metrics struct {
	collection *Collection

	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	inFlight    *prometheus.GaugeVec
	replaced    *prometheus.CounterVec
	rateLimited *prometheus.CounterVec

	available *prometheus.Desc
	expire    *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(c *Collection) *metrics {
	const instance, via, verb, code = "instance", "via", "verb", "code"
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help}
	}
	name := func(n string) string { return prometheus.BuildFQName(metricsNamespace, metricsSubsystem, n) }
	duration := opts("request_duration_seconds", "Time until an instance began to answer.")
	return &metrics{
		collection: c,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts(opts("requests_total",
			"Requests to an instance, by the way they came on, kind of verb and class of status; code is error when there was no answer.")), []string{instance, via, verb, code}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: duration.Namespace, Subsystem: duration.Subsystem, Name: duration.Name, Help: duration.Help,
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{instance, verb}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts(opts("requests_waiting",
			"Requests whose answer has not begun.")), []string{instance}),
		replaced: prometheus.NewCounterVec(prometheus.CounterOpts(opts("connections_replaced_total",
			"How often credentials or endpoint changed.")), []string{instance}),
		rateLimited: prometheus.NewCounterVec(prometheus.CounterOpts(opts("requests_limited_total",
			"Requests that were refused because too much was asked of the instance.")), []string{instance}),
		available: prometheus.NewDesc(name("available"), "1 when requests to an instance are tried, 0 while it has no credentials or does not answer.",
			[]string{instance}, nil),
		expire: prometheus.NewDesc(name("credentials_expire_timestamp_seconds"), "When an instance stops to accept Kairship's credentials; missing when they do not say.",
			[]string{instance}, nil),
	}
}

func (m *metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.duration, m.inFlight, m.replaced, m.rateLimited}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(out)
	}
	out <- m.available
	out <- m.expire
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(out)
	}
	m.collection.each(func(i *instance) {
		available := 0.0
		if i.Health().Available {
			available = 1
		}
		out <- prometheus.MustNewConstMetric(m.available, prometheus.GaugeValue, available, i.name)
		if end := i.expire(); !end.IsZero() {
			out <- prometheus.MustNewConstMetric(m.expire, prometheus.GaugeValue, float64(end.Unix()), i.name)
		}
	})
}

// forget drops what is known of an instance that no longer exists.
func (m *metrics) forget(name string) {
	labels := prometheus.Labels{"instance": name}
	m.requests.DeletePartialMatch(labels)
	m.duration.DeletePartialMatch(labels)
	m.inFlight.DeletePartialMatch(labels)
	m.replaced.DeletePartialMatch(labels)
	m.rateLimited.DeletePartialMatch(labels)
}

// instanceMetrics are those of one instance.
type instanceMetrics struct {
	all  *metrics
	name string
	// ended is set when the instance is removed: what ends late must not bring its
	// series back.
	ended atomic.Bool
}

// of are the metrics of one instance. Its counters are there from the start, so that
// their first increase shows as one.
func (m *metrics) of(name string) *instanceMetrics {
	m.replaced.WithLabelValues(name)
	m.rateLimited.WithLabelValues(name)
	return &instanceMetrics{all: m, name: name}
}

func (m *instanceMetrics) replaced()    { m.all.replaced.WithLabelValues(m.name).Inc() }
func (m *instanceMetrics) rateLimited() { m.all.rateLimited.WithLabelValues(m.name).Inc() }

// begin counts a request; the function takes its outcome.
func (m *instanceMetrics) begin(r *http.Request) func(*http.Response, error) {
	via, verb, begun := viaOf(r.Context()), verbClass(r), time.Now()
	waiting := m.all.inFlight.WithLabelValues(m.name)
	waiting.Inc()
	return func(response *http.Response, err error) {
		if m.ended.Load() {
			return
		}
		waiting.Dec()
		code := "error"
		if err == nil {
			code = strconv.Itoa(response.StatusCode/100) + "xx"
		}
		m.all.requests.WithLabelValues(m.name, via, verb, code).Inc()
		m.all.duration.WithLabelValues(m.name, verb).Observe(time.Since(begun).Seconds())
	}
}

// verbClass is what a request is about, in four words.
func verbClass(r *http.Request) string {
	switch {
	case isUpgrade(r.Header):
		return "connect"
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return "write"
	case IsSet(r.URL.Query(), "watch"): // It lasts long, unlike a list.
		return "watch"
	}
	return "read"
}
