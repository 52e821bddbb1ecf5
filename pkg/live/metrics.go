package live

import (
	"github.com/prometheus/client_golang/prometheus"
)

const (
	metricsNamespace = "kairship"
	metricsSubsystem = "live"
)

// maxResourceLabels bounds the label resource: which kinds are followed is up to
// the callers.
const maxResourceLabels = 60

// metrics are those of a Hub. Labels are bounded: global or instance, the first
// resources that were followed, and words of ours.
type metrics struct {
	hub *Hub

	watches   prometheus.Gauge
	relists   *prometheus.CounterVec
	events    *prometheus.CounterVec
	coalesced prometheus.Counter
	gaps      *prometheus.CounterVec
	resumed   *prometheus.CounterVec
	ended     *prometheus.CounterVec
	delay     prometheus.Histogram

	// byType are the counters of events, which are counted often.
	byType map[Type]prometheus.Counter

	streams, feeds, objects, subscribers, interrupted *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(h *Hub) *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help}
	}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(metricsNamespace, metricsSubsystem, name), help, labels, nil)
	}
	const cluster, resource = "cluster", "resource"
	m := &metrics{
		hub: h, byType: map[Type]prometheus.Counter{},
		watches: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "watches", Help: "Watches that are open at instances and at the global cluster.",
		}),
		relists: prometheus.NewCounterVec(counter("relists_total",
			"How often a resource that was followed was listed again: its version expired, another cluster came in its place, or another replica was ahead (behind)."), []string{"reason"}),
		events:    prometheus.NewCounterVec(counter("events_total", "Events that subscribers have read, by type."), []string{"type"}),
		coalesced: prometheus.NewCounter(counter("coalesced_total", "Changes that were merged into one that a subscriber had not read yet.")),
		gaps: prometheus.NewCounterVec(counter("gaps_total",
			"How often a source started again for a subscriber, by reason: its position is not of this cluster or is not known (cluster), "+
				"nothing told the difference since (resume), it read too slowly (overflow), or a source was removed (sources)."), []string{"reason"}),
		resumed: prometheus.NewCounterVec(counter("resumed_total",
			"Sources that a subscriber resumed, by what told the difference: history (in memory), cluster (the resource as it was), or lost (nothing did)."), []string{"from"}),
		ended: prometheus.NewCounterVec(counter("streams_ended_total", "Streams that ended, by reason."), []string{"reason"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "delay_seconds",
			Help:    "Time from hearing of a change to a subscriber's reading it; the first one, where it reads several at once.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		streams:     desc("streams", "Streams that are open."),
		feeds:       desc("feeds", "Resources that are followed.", cluster, resource),
		objects:     desc("objects", "Objects that are kept in memory.", cluster, resource),
		subscribers: desc("subscribers", "Streams that follow a resource.", cluster, resource),
		interrupted: desc("feeds_interrupted", "Resources that are followed and do not answer.", cluster, resource),
	}
	// A counter that is there from the start shows its first increase as one.
	for vector, values := range map[*prometheus.CounterVec][]string{
		m.relists: {"behind", "other", "expired"}, m.gaps: {"cluster", "overflow", "resume", "sources"}, m.resumed: {"history", "cluster", "lost"},
		m.ended: {"slow", "stopped", "closed", "gone", "other"},
	} {
		for _, value := range values {
			vector.WithLabelValues(value)
		}
	}
	for _, t := range []Type{Added, Modified, Deleted, Synced, Gap, Interrupted, Restored, Ended} {
		m.byType[t] = m.events.WithLabelValues(string(t))
	}
	return m
}

// read counts an event that was read.
func (m *metrics) read(t Type) { m.byType[t].Inc() }

func (m *metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.watches, m.relists, m.events, m.coalesced, m.gaps, m.resumed, m.ended, m.delay}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(out)
	}
	for _, d := range []*prometheus.Desc{m.streams, m.feeds, m.objects, m.subscribers, m.interrupted} {
		out <- d
	}
}

// kindOf groups sources in the gauges.
type kindOf struct{ cluster, resource string }

// sums are the gauges of one kind of source.
type sums struct{ feeds, objects, subscribers, interrupted float64 }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(out)
	}
	feeds, views, streams := m.hub.snapshot()
	out <- prometheus.MustNewConstMetric(m.streams, prometheus.GaugeValue, float64(streams))
	all := map[kindOf]*sums{}
	of := func(s Source) *sums {
		k := m.kindOf(s)
		if all[k] == nil {
			all[k] = &sums{}
		}
		return all[k]
	}
	for _, f := range feeds {
		s := of(f.source)
		f.mu.Lock()
		s.feeds++
		s.objects += float64(len(f.objects))
		if f.problem != nil {
			s.interrupted++
		}
		f.mu.Unlock()
	}
	for _, v := range views {
		s := of(v.inputs[0].feed.source)
		v.mu.Lock()
		s.subscribers += float64(len(v.parts))
		v.mu.Unlock()
	}
	for k, s := range all {
		for d, value := range map[*prometheus.Desc]float64{m.feeds: s.feeds, m.objects: s.objects, m.subscribers: s.subscribers, m.interrupted: s.interrupted} {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, k.cluster, k.resource)
		}
	}
}

func (m *metrics) kindOf(s Source) kindOf {
	k := kindOf{cluster: "instance", resource: s.Resource.GroupResource().String()}
	if s.Instance == "" {
		k.cluster = "global"
	}
	if !m.hub.labels.admit(k.resource) {
		k.resource = "other"
	}
	return k
}
