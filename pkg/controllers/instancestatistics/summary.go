package instancestatistics

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// mostKinds limits the kinds of propagated resources in the status. The smallest are added up as
// otherKind.
const (
	mostKinds = 100
	otherKind = "Other"
)

// figures is what an instance has, by kind of source; a kind that could not be
// read is missing.
type figures map[string][]entry

// summarize adds up. The result is the same for the same figures, whatever their
// order.
func summarize(f figures) *v1alpha1.InstanceSummary {
	s := &v1alpha1.InstanceSummary{}
	var cpu, memory, pods capacity
	for _, e := range f["Cluster"] {
		m := e.member
		s.Clusters.Total++
		s.Nodes.Total += m.nodes
		if m.since.IsZero() {
			s.Clusters.Ready++
			s.Nodes.Ready += m.nodesReady
		} else {
			s.StaleClusters = append(s.StaleClusters, v1alpha1.StaleCluster{Name: m.name, Since: metav1.NewTime(m.since)})
		}
		cpu.add(m.cpu)
		memory.add(m.memory)
		pods.add(m.pods)
	}
	slices.SortFunc(s.StaleClusters, func(a, b v1alpha1.StaleCluster) int { return cmp.Compare(a.Name, b.Name) })
	s.CPU, s.Memory, s.Pods = cpu.cores(), memory.bytes(), pods.number()

	for _, kind := range sources {
		all, read := f[kind.kind]
		if !read {
			continue
		}
		switch kind.use {
		case workloads:
			count := v1alpha1.WorkloadCount{Kind: kind.kind, ReadyCount: v1alpha1.ReadyCount{Total: int64(len(all)), Ready: ready(all)}}
			if kind.kind == "CronJob" {
				count.Ready = min(count.Total, scheduled(f, kind))
			}
			s.Workloads = append(s.Workloads, count)
		case policies:
			s.Policies = append(s.Policies, v1alpha1.KindCount{Group: kind.version.Group, Kind: kind.kind, Total: int64(len(all))})
		case members, propagated:
		}
	}
	s.Resources = resources(f)
	return s
}

func ready(all []entry) (number int64) {
	for _, e := range all {
		if e.ready {
			number++
		}
	}
	return number
}

// scheduled counts the objects of a kind whose own status does not say that they
// work, by their bindings: they have been applied wherever they should be.
func scheduled(f figures, kind watched) (number int64) {
	for _, e := range f["ResourceBinding"] {
		if e.ready && e.kind.Kind == kind.kind && e.kind.Group == kind.version.Group {
			number++
		}
	}
	return number
}

// resources counts what is propagated.
func resources(f figures) []v1alpha1.KindCount {
	totals := map[schema.GroupKind]int64{}
	for _, kind := range sources {
		if kind.use != propagated {
			continue
		}
		for _, e := range f[kind.kind] {
			totals[e.kind]++
		}
	}
	var all []v1alpha1.KindCount
	for kind, total := range totals {
		all = append(all, v1alpha1.KindCount{Group: kind.Group, Kind: kind.Kind, Total: total})
	}
	return bounded(all, mostKinds)
}

// bounded adds up the smallest counts when there are more than most, and sorts by group and kind.
func bounded(all []v1alpha1.KindCount, most int) []v1alpha1.KindCount {
	byName := func(a, b v1alpha1.KindCount) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	}
	if len(all) > most {
		all = slices.Clone(all)
		slices.SortFunc(all, func(a, b v1alpha1.KindCount) int { return cmp.Or(cmp.Compare(b.Total, a.Total), byName(a, b)) })
		other := v1alpha1.KindCount{Kind: otherKind}
		for _, c := range all[most-1:] {
			other.Total += c.Total
		}
		all = append(all[:most-1:most-1], other)
	}
	slices.SortFunc(all, byName)
	return all
}

// summarizeMember is what an inventory Cluster reports about itself.
func summarizeMember(m member) *v1alpha1.ClusterSummary {
	if !m.reported {
		return nil
	}
	s := &v1alpha1.ClusterSummary{
		Nodes: v1alpha1.ReadyCount{Total: m.nodes, Ready: m.nodesReady},
		CPU:   m.cpu.cores(), Memory: m.memory.bytes(), Pods: m.pods.number(),
	}
	if !m.since.IsZero() {
		since := metav1.NewTime(m.since)
		s.StaleSince, s.Nodes.Ready = &since, 0
	}
	return s
}

func (c *capacity) add(other capacity) {
	c.allocatable += other.allocatable
	c.allocated += other.allocated
}

func (c *capacity) cores() v1alpha1.Capacity {
	return v1alpha1.Capacity{
		Allocatable: *resource.NewMilliQuantity(c.allocatable, resource.DecimalSI),
		Allocated:   *resource.NewMilliQuantity(c.allocated, resource.DecimalSI),
	}
}

func (c *capacity) bytes() v1alpha1.Capacity {
	return v1alpha1.Capacity{
		Allocatable: *resource.NewQuantity(c.allocatable, resource.BinarySI),
		Allocated:   *resource.NewQuantity(c.allocated, resource.BinarySI),
	}
}

func (c *capacity) number() v1alpha1.Capacity {
	return v1alpha1.Capacity{
		Allocatable: *resource.NewQuantity(c.allocatable, resource.DecimalSI),
		Allocated:   *resource.NewQuantity(c.allocated, resource.DecimalSI),
	}
}
