package workloads

import "github.com/kairship-io/kairship/pkg/fleet/workload"

// Scalable are the kinds that Scale takes.
func Scalable() []workload.Kind {
	return []workload.Kind{workload.KindDeployment, workload.KindStatefulSet}
}

// Restartable are the kinds that Restart takes.
func Restartable() []workload.Kind {
	return []workload.Kind{workload.KindDeployment, workload.KindStatefulSet, workload.KindDaemonSet, workload.KindJob}
}

// Pausable are the kinds that Pause and Resume take.
func Pausable() []workload.Kind {
	return []workload.Kind{workload.KindDeployment, workload.KindJob, workload.KindCronJob}
}

// WithImages are the kinds that SetImage takes. The pods of a Job cannot be changed.
func WithImages() []workload.Kind {
	return []workload.Kind{workload.KindDeployment, workload.KindStatefulSet, workload.KindDaemonSet, workload.KindCronJob}
}
