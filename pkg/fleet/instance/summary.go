package instance

import (
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// KindCount is how many objects of one kind there are.
type KindCount struct {
	Group string
	Kind  string
	Total int
	// Ready is nil where readiness means nothing for the kind.
	Ready *int
}

// StaleCluster is a member whose figures are old.
type StaleCluster struct {
	Name  string
	Since time.Time
}

// Summary are figures over a whole instance.
type Summary struct {
	// StaleSince is since when all of them are old; nil while they are not.
	StaleSince                     *time.Time
	StaleClusters                  []StaleCluster
	Clusters, Nodes                object.ReadyCount
	CPU, Memory, Pods              object.Capacity
	Workloads, Policies, Resources []KindCount
}

// workloadGroups are the API groups of the kinds of workloads.
var workloadGroups = map[string]string{"Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch", "CronJob": "batch"}

func summaryOf(in *v1alpha1.InstanceSummary) *Summary {
	if in == nil {
		return nil
	}
	s := &Summary{
		Clusters: object.ReadyCountOf(in.Clusters), Nodes: object.ReadyCountOf(in.Nodes),
		CPU: object.CapacityOf(in.CPU), Memory: object.CapacityOf(in.Memory), Pods: object.CapacityOf(in.Pods),
		Policies: kindCounts(in.Policies), Resources: kindCounts(in.Resources),
		Workloads:     make([]KindCount, len(in.Workloads)),
		StaleClusters: make([]StaleCluster, len(in.StaleClusters)),
	}
	if in.StaleSince != nil {
		s.StaleSince = object.Time(*in.StaleSince)
	}
	for i, c := range in.StaleClusters {
		s.StaleClusters[i] = StaleCluster{Name: c.Name, Since: c.Since.UTC()}
	}
	for i, c := range in.Workloads {
		ready := int(c.Ready)
		s.Workloads[i] = KindCount{Group: workloadGroups[c.Kind], Kind: c.Kind, Total: int(c.Total), Ready: &ready}
	}
	return s
}

func kindCounts(in []v1alpha1.KindCount) []KindCount {
	out := make([]KindCount, len(in))
	for i, c := range in {
		out[i] = KindCount{Group: c.Group, Kind: c.Kind, Total: int(c.Total)}
	}
	return out
}
