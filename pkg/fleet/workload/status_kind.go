package workload

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of workload. The values are those of the GraphQL enum WorkloadKind, and the names of
// the kinds that its value CUSTOM stands for; see Shown.
type Kind string

// The kinds that are workloads wherever they are.
const (
	KindDeployment  Kind = "DEPLOYMENT"
	KindStatefulSet Kind = "STATEFUL_SET"
	KindDaemonSet   Kind = "DAEMON_SET"
	KindJob         Kind = "JOB"
	KindCronJob     Kind = "CRON_JOB"
)

// Health is the health of a workload or of one of its placements. The values are those of the
// GraphQL enum WorkloadHealth.
//
// The set is closed and small on purpose. Two states that users look for are not values of it,
// because they describe what a user requested and not how the workload is; Message names them
// first, and they have flags of their own:
//
//   - Suspended. A suspended CronJob or Job is HEALTHY: it does what its spec says.
//     A suspended dispatching does not change the health of what runs; it is UNPROPAGATED
//     where nothing was ever sent, and PROGRESSING where only some clusters have it.
//     The flag is PlacementStatus.Suspended.
//   - Being deleted. The workload is PROGRESSING (towards its deletion) until its
//     last finalizer is removed. The flag is Object.DeletionTimestamp.
type Health string

// The values of Health, from good to bad as far as they can be compared.
const (
	// HealthHealthy means that the state is the one asked for.
	HealthHealthy Health = "HEALTHY"
	// HealthProgressing means that the state is not yet the one asked for, and
	// nothing reports that it will not get there.
	HealthProgressing Health = "PROGRESSING"
	// HealthDegraded means that something failed, or that a part is missing or can't be observed.
	HealthDegraded Health = "DEGRADED"
	// HealthUnscheduled means that a policy claims the workload and no cluster was found for it.
	HealthUnscheduled Health = "UNSCHEDULED"
	// HealthUnpropagated means that the workload exists in the instance only:
	// no policy selects it, or its dispatching was suspended before it was ever sent.
	HealthUnpropagated Health = "UNPROPAGATED"
	// HealthUnmanaged means that the workload runs where it was sent, and that no
	// policy manages its propagation any more: changes do not reach the clusters.
	HealthUnmanaged Health = "UNMANAGED"
	// HealthUnknown means that none of its clusters can be observed, or that Karmada's interpreter has
	// no health of a custom workload.
	HealthUnknown Health = "UNKNOWN"
)

// kindInfo is what Kubernetes calls a Kind.
type kindInfo struct {
	kind     Kind
	gvk      schema.GroupVersionKind
	resource string
}

var kinds = []kindInfo{
	{KindDeployment, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"},
	{KindStatefulSet, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"},
	{KindDaemonSet, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, "daemonsets"},
	{KindJob, schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"},
	{KindCronJob, schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"},
}

// Kinds lists every kind but custom ones, in the order of the schema.
func Kinds() []Kind {
	out := make([]Kind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.kind)
	}
	return out
}

// KindFromGVK returns which workload kind a Kubernetes kind is. The version is
// not compared: the kinds mean the same in every version that was ever served.
func KindFromGVK(gvk schema.GroupVersionKind) (Kind, bool) {
	for _, k := range kinds {
		if k.gvk.Group == gvk.Group && k.gvk.Kind == gvk.Kind {
			return k.kind, true
		}
	}
	return "", false
}

// KindFromGVR returns which workload kind a resource holds; the version is not compared.
func KindFromGVR(gvr schema.GroupVersionResource) (Kind, bool) {
	for _, k := range kinds {
		if k.gvk.Group == gvr.Group && k.resource == gvr.Resource {
			return k.kind, true
		}
	}
	return "", false
}

// Valid reports whether k is the kind of a workload: one of the kinds, or a kind of custom workloads.
func (k Kind) Valid() bool {
	if k.Custom() {
		parsed, ok := ParseCustomKind(string(k))
		return ok && parsed == k
	}
	_, ok := k.info()
	return ok
}

// GVK is the Kubernetes group, version and kind; empty for an invalid Kind, and without a version for
// a kind of custom workloads.
func (k Kind) GVK() schema.GroupVersionKind {
	if k.Custom() {
		return schema.ParseGroupKind(string(k)).WithVersion("")
	}
	info, _ := k.info()
	return info.gvk
}

// GVR is the Kubernetes group, version and resource; empty for an invalid Kind, and for a kind of
// custom workloads the group alone.
func (k Kind) GVR() schema.GroupVersionResource {
	if k.Custom() {
		return schema.GroupVersionResource{Group: k.GVK().Group}
	}
	info, _ := k.info()
	return schema.GroupVersionResource{Group: info.gvk.Group, Version: info.gvk.Version, Resource: info.resource}
}

func (k Kind) info() (kindInfo, bool) {
	for _, info := range kinds {
		if info.kind == k {
			return info, true
		}
	}
	return kindInfo{}, false
}
