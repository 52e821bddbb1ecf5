package resource

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// Runs is what a workload runs in one cluster.
type Runs struct {
	Images []string `json:"images"`
	// Desired and Ready are numbers of pods; nil where the kind has none, or nothing was observed.
	Desired *int `json:"desired"`
	Ready   *int `json:"ready"`
}

// running are the kinds of objects that run something, with the numbers of their pods.
var running = map[Kind]func(*workload.Object) (desired, ready *int){
	{appsv1.GroupName, "v1", "deployments"}:  replicated,
	{appsv1.GroupName, "v1", "statefulsets"}: replicated,
	{appsv1.GroupName, "v1", "replicasets"}:  replicated,
	{appsv1.GroupName, "v1", "daemonsets"}: func(o *workload.Object) (desired, ready *int) {
		if o.Status.ObservedGeneration == 0 {
			return nil, nil
		}
		return new(int(o.Status.DesiredNumberScheduled)), new(int(o.Status.NumberReady))
	},
	{batchv1.GroupName, "v1", "jobs"}: func(o *workload.Object) (desired, ready *int) {
		return count(o.Spec.Completions, o.Spec.Parallelism), new(int(o.Status.Succeeded))
	},
	{batchv1.GroupName, "v1", "cronjobs"}: func(*workload.Object) (desired, ready *int) { return nil, nil },
}

func replicated(o *workload.Object) (desired, ready *int) {
	if o.Status.ObservedGeneration > 0 {
		ready = new(int(o.Status.ReadyReplicas))
	}
	return count(o.Spec.Replicas), ready
}

// count is the first number that is given; 1, the API server's default, where none is.
func count(numbers ...*int32) *int {
	for _, n := range numbers {
		if n != nil {
			return new(int(*n))
		}
	}
	return new(1)
}

// Runs returns what a workload runs; nil for another kind.
func (r *Resource) Runs() (*Runs, error) {
	numbers := running[r.of]
	if numbers == nil {
		return nil, nil //nolint:nilnil // It is another kind.
	}
	o, err := index.Decode[workload.Object](r.Indexed)
	if err != nil {
		return nil, err
	}
	runs := &Runs{Images: o.Images()}
	runs.Desired, runs.Ready = numbers(o)
	return runs, nil
}
