package instancestatistics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// mostSeries limits the kinds of propagated resources for which an instance has series; the status
// has more.
const mostSeries = 20

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("kairship_instance_"+name, help, append([]string{"instance"}, labels...), nil)
}

var (
	clustersDesc      = desc("clusters", "Member clusters of an instance.")
	clustersReadyDesc = desc("clusters_ready", "Member clusters of an instance that are ready.")
	nodesDesc         = desc("nodes", "Nodes of the member clusters.")
	nodesReadyDesc    = desc("nodes_ready", "Nodes of the member clusters that are ready.")
	cpuDesc           = desc("cpu_cores", "CPU of the member clusters: allocatable, and allocated by pods' requests.", "figure")
	memoryDesc        = desc("memory_bytes", "Memory of the member clusters: allocatable, and allocated by pods' requests.", "figure")
	podsDesc          = desc("pods", "Pods of the member clusters: allocatable, and allocated.", "figure")
	workloadsDesc     = desc("workloads", "Workloads of an instance.", "kind")
	workReadyDesc     = desc("workloads_ready", "Workloads of an instance that are ready.", "kind")
	policiesDesc      = desc("policies", "Policies of an instance.", "kind")
	resourcesDesc     = desc("resources", "Resources that an instance propagates; the rarest kinds together as Other.", "group", "kind")
	ageDesc           = desc("statistics_age_seconds", "How old the figures of an instance are: 0 while it is followed.")
)

// Metrics are the figures of instances. It is a collector and not gauges, so that all figures of
// an instance appear and disappear at the same time.
type Metrics struct {
	// watches is how many watches on instances there are.
	watches atomic.Int64

	mu     sync.Mutex
	byName map[string]*v1alpha1.InstanceSummary
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{byName: map[string]*v1alpha1.InstanceSummary{}}
	registry.MustRegister(m, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kairship_instance_watches",
		Help: "Watches on instances, for their statistics.",
	}, func() float64 { return float64(m.watches.Load()) }))
	return m
}

func (m *Metrics) set(instance string, summary *v1alpha1.InstanceSummary) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byName[instance] = summary
}

func (m *Metrics) forget(instance string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byName, instance)
}

// Describe is for prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		clustersDesc, clustersReadyDesc, nodesDesc, nodesReadyDesc, cpuDesc, memoryDesc, podsDesc,
		workloadsDesc, workReadyDesc, policiesDesc, resourcesDesc, ageDesc,
	} {
		to <- d
	}
}

// Collect is for prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	now := maps.Clone(m.byName)
	m.mu.Unlock()
	for instance, summary := range now {
		m.collect(to, instance, summary)
	}
}

func (m *Metrics) collect(to chan<- prometheus.Metric, instance string, summary *v1alpha1.InstanceSummary) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{instance}, labels...)...)
	}
	gauge(clustersDesc, float64(summary.Clusters.Total))
	gauge(clustersReadyDesc, float64(summary.Clusters.Ready))
	gauge(nodesDesc, float64(summary.Nodes.Total))
	gauge(nodesReadyDesc, float64(summary.Nodes.Ready))
	for d, c := range map[*prometheus.Desc]v1alpha1.Capacity{cpuDesc: summary.CPU, memoryDesc: summary.Memory, podsDesc: summary.Pods} {
		gauge(d, number(c.Allocatable), "allocatable")
		gauge(d, number(c.Allocated), "allocated")
	}
	for _, w := range summary.Workloads {
		gauge(workloadsDesc, float64(w.Total), w.Kind)
		gauge(workReadyDesc, float64(w.Ready), w.Kind)
	}
	for _, p := range summary.Policies {
		gauge(policiesDesc, float64(p.Total), p.Kind)
	}
	for _, r := range bounded(summary.Resources, mostSeries) {
		gauge(resourcesDesc, float64(r.Total), r.Group, r.Kind)
	}
	age := 0.0
	if summary.StaleSince != nil {
		age = max(0, time.Since(summary.StaleSince.Time).Seconds())
	}
	gauge(ageDesc, age)
}

func number(q resource.Quantity) float64 { return q.AsApproximateFloat64() }
