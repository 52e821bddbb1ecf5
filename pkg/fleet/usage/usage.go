package usage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Usage is what something uses.
type Usage struct {
	object.ComputeResources
	// MeasuredAt is when it was measured, the oldest of several measurements; nil where there is none.
	MeasuredAt *time.Time
	// WindowSeconds is the time over which CPU is an average, the longest of several.
	WindowSeconds *float64
	// Reason says what is missing and why; nil where nothing is.
	Reason *string
}

// MemberCluster is what the nodes of a member cluster use together.
type MemberCluster struct {
	Usage
	// NodeCount is how many nodes Karmada has counted; nil before it has.
	NodeCount *int
	// MeasuredNodeCount is how many of them were measured.
	MeasuredNodeCount int
}

// Workload is what the pods of a workload use together.
type Workload struct {
	Usage
	// PodCount is how many pods there are that have not ended, MeasuredPodCount how many of them were measured.
	PodCount, MeasuredPodCount int
	Clusters                   []WorkloadCluster
	// Freshness is that of the list of the pods.
	Freshness freshness.Freshness
}

// WorkloadCluster is what the pods of a workload in one member cluster use together.
type WorkloadCluster struct {
	Usage
	ClusterName                string
	PodCount, MeasuredPodCount int
}

// without is the usage of what has none that could be told.
func without(reason string) Usage { return Usage{Reason: &reason} }

// measurement is what a member has measured of a pod or a node.
type measurement struct {
	used   corev1.ResourceList
	at     time.Time
	window time.Duration
}

// sum adds measurements.
type sum struct {
	measurement

	count int
}

func (s *sum) add(m *measurement) {
	if s.used == nil {
		s.used = corev1.ResourceList{}
	}
	addTo(s.used, m.used)
	if s.count == 0 || m.at.Before(s.at) {
		s.at = m.at
	}
	s.window = max(s.window, m.window)
	s.count++
}

// merge adds what another sum has.
func (s *sum) merge(o *sum) {
	if o.count == 0 {
		return
	}
	before := s.count
	s.add(&o.measurement)
	s.count = before + o.count
}

// usage is the sum as the API has it. A reason is empty where nothing is missing.
func (s *sum) usage(reason string) Usage {
	u := Usage{Reason: object.Optional(reason)}
	if s.count == 0 {
		return u
	}
	at := s.at.UTC()
	u.MeasuredAt, u.WindowSeconds = &at, new(float64(s.window)/float64(time.Second))
	// CPU is measured in billionths of a core.
	if cpu, given := s.used[corev1.ResourceCPU]; given {
		u.CPU = new(float64(cpu.ScaledValue(resource.Nano)) / 1e9)
	}
	if memory, given := s.used[corev1.ResourceMemory]; given {
		u.Memory = new(float64(memory.Value()))
	}
	return u
}

// addTo adds amounts to others.
func addTo(to, amounts corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if more, given := amounts[name]; given {
			amount := to[name]
			amount.Add(more)
			to[name] = amount
		}
	}
}
