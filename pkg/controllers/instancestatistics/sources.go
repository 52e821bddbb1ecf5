package instancestatistics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// use says what objects of a kind are counted as.
type use int

const (
	members use = iota
	workloads
	policies
	propagated
)

// watched is one kind of object that is watched in every instance.
type watched struct {
	version  schema.GroupVersion
	resource string
	kind     string
	use      use
	// read is what counts of an object.
	read func(*item) entry
}

var (
	apps    = schema.GroupVersion{Group: "apps", Version: "v1"}
	batch   = schema.GroupVersion{Group: "batch", Version: "v1"}
	cluster = schema.GroupVersion{Group: "cluster.karmada.io", Version: "v1alpha1"}
	policy  = schema.GroupVersion{Group: "policy.karmada.io", Version: "v1alpha1"}
	work    = schema.GroupVersion{Group: "work.karmada.io", Version: "v1alpha2"}
)

// sources are all that is watched. None of it is in the members: what is known of
// them is what they report to Karmada.
var sources = []watched{
	{cluster, "clusters", "Cluster", members, readMember},
	{apps, "deployments", "Deployment", workloads, readDeployment},
	{apps, "statefulsets", "StatefulSet", workloads, readReplicated},
	{apps, "daemonsets", "DaemonSet", workloads, readDaemonSet},
	{batch, "jobs", "Job", workloads, readJob},
	{batch, "cronjobs", "CronJob", workloads, readNothing},
	{policy, "propagationpolicies", "PropagationPolicy", policies, readNothing},
	{policy, "clusterpropagationpolicies", "ClusterPropagationPolicy", policies, readNothing},
	{policy, "overridepolicies", "OverridePolicy", policies, readNothing},
	{policy, "clusteroverridepolicies", "ClusterOverridePolicy", policies, readNothing},
	{work, "resourcebindings", "ResourceBinding", propagated, readBinding},
	{work, "clusterresourcebindings", "ClusterResourceBinding", propagated, readBinding},
}

// entry is what is kept of an object. Two entries that are equal count the same.
type entry struct {
	// kind is what a binding propagates.
	kind schema.GroupKind
	// ready reports of a workload that it is, and of a binding that everything was
	// applied.
	ready  bool
	member member
}

// member are a member cluster's own figures, as Karmada last collected them.
type member struct {
	name string
	id   string
	// since is when it stopped to report; zero while it reports.
	since             time.Time
	nodes, nodesReady int64
	cpu, memory, pods capacity
	reported          bool
}

// capacity is in thousandths of cores, bytes or pods.
type capacity struct{ allocatable, allocated int64 }

func readNothing(*item) entry { return entry{} }

func readMember(i *item) entry {
	m := member{name: i.Name, id: i.Spec.ID}
	if ready := meta.FindStatusCondition(i.Status.Conditions, "Ready"); ready == nil {
		m.since = i.CreationTimestamp.UTC()
	} else if ready.Status != metav1.ConditionTrue {
		m.since = ready.LastTransitionTime.UTC()
	}
	if nodes := i.Status.NodeSummary; nodes != nil {
		m.reported, m.nodes, m.nodesReady = true, nodes.TotalNum, nodes.ReadyNum
	}
	if resources := i.Status.ResourceSummary; resources != nil {
		m.reported = true
		m.cpu = capacity{resources.Allocatable.Cpu().MilliValue(), resources.Allocated.Cpu().MilliValue()}
		m.memory = capacity{resources.Allocatable.Memory().Value(), resources.Allocated.Memory().Value()}
		m.pods = capacity{count(resources.Allocatable), count(resources.Allocated)}
	}
	return entry{member: m}
}

func count(list corev1.ResourceList) int64 { return list.Pods().Value() }

// observed reports whether the status is about the present spec. Karmada says so of
// what it has spread once every member has said so.
func observed(i *item) bool { return i.Generation > 0 && i.Status.ObservedGeneration >= i.Generation }

func readDeployment(i *item) entry { return entry{ready: observed(i) && readReplicated(i).ready} }

// readReplicated uses the numbers that the members report in total: a workload that is duplicated
// has more replicas than its spec says. Karmada does not pass on which generation of a StatefulSet
// they have observed.
func readReplicated(i *item) entry {
	wanted := int64(1)
	if i.Spec.Replicas != nil {
		wanted = *i.Spec.Replicas
	}
	return entry{ready: i.Status.ReadyReplicas >= max(wanted, i.Status.Replicas)}
}

func readDaemonSet(i *item) entry {
	return entry{ready: observed(i) && i.Status.NumberReady >= i.Status.DesiredNumberScheduled}
}

func readJob(i *item) entry {
	return entry{ready: meta.IsStatusConditionTrue(i.Status.Conditions, "Complete")}
}

func readBinding(i *item) entry {
	version, err := schema.ParseGroupVersion(i.Spec.Resource.APIVersion)
	if err != nil {
		version = schema.GroupVersion{}
	}
	return entry{
		kind:  schema.GroupKind{Group: version.Group, Kind: i.Spec.Resource.Kind},
		ready: meta.IsStatusConditionTrue(i.Status.Conditions, "FullyApplied"),
	}
}
