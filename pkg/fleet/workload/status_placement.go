package workload

import (
	"encoding/json"
	"slices"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// placementsOf lists the clusters that the binding assigns, then those from which the workload is
// being removed, and evaluates each.
func placementsOf(in Facts) []PlacementStatus {
	if in.Binding == nil || in.Template == nil {
		return nil
	}
	targets := targetsOf(&in.Binding.Spec)
	aggregated := aggregatedOf(in.Binding)
	out := make([]PlacementStatus, 0, len(targets))
	done := make(map[string]struct{}, len(targets))
	for _, target := range targets {
		done[target.Name] = struct{}{}
		out = append(out, scheduledPlacement(in, target, aggregated[target.Name]))
	}
	for i := range in.Binding.Spec.GracefulEvictionTasks {
		task := &in.Binding.Spec.GracefulEvictionTasks[i]
		if _, dup := done[task.FromCluster]; dup {
			continue
		}
		done[task.FromCluster] = struct{}{}
		p := leavingPlacement(in, task.FromCluster, aggregated[task.FromCluster])
		p.Evicting = true
		p.Message = "being evicted: " + object.JoinReason(task.Reason, task.Message)
		out = append(out, p)
	}
	for cluster, item := range aggregated {
		if _, dup := done[cluster]; dup {
			continue
		}
		p := leavingPlacement(in, cluster, item)
		p.Message = "no longer scheduled to this cluster; its objects there are being removed"
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Cluster < out[j].Cluster })
	return out
}

// aggregatedOf is what each cluster reported to Karmada.
func aggregatedOf(binding *workv1alpha2.ResourceBinding) map[string]*workv1alpha2.AggregatedStatusItem {
	aggregated := make(map[string]*workv1alpha2.AggregatedStatusItem, len(binding.Status.AggregatedStatus))
	for i := range binding.Status.AggregatedStatus {
		item := &binding.Status.AggregatedStatus[i]
		aggregated[item.ClusterName] = item
	}
	return aggregated
}

// clustersOf returns, by name, the member clusters of a binding: those of the scheduling result and
// those from which the workload is being removed. Only their objects and Works are worth reading.
// It is nil for no binding.
func clustersOf(binding *workv1alpha2.ResourceBinding) []string {
	if binding == nil {
		return nil
	}
	var out []string
	for _, target := range targetsOf(&binding.Spec) {
		out = append(out, target.Name)
	}
	for i := range binding.Spec.GracefulEvictionTasks {
		out = append(out, binding.Spec.GracefulEvictionTasks[i].FromCluster)
	}
	for i := range binding.Status.AggregatedStatus {
		out = append(out, binding.Status.AggregatedStatus[i].ClusterName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// targetsOf is the scheduling result, joined by the clusters of the bindings
// that need this one as their dependency, as Karmada joins them.
func targetsOf(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetCluster {
	if len(spec.RequiredBy) == 0 {
		return spec.Clusters
	}
	targets := slices.Clone(spec.Clusters)
	for _, snapshot := range spec.RequiredBy {
		for _, target := range snapshot.Clusters {
			has := func(t workv1alpha2.TargetCluster) bool { return t.Name == target.Name }
			if !slices.ContainsFunc(targets, has) {
				targets = append(targets, target)
			}
		}
	}
	return targets
}

// scheduledPlacement evaluates one cluster of the scheduling result.
func scheduledPlacement(in Facts, target workv1alpha2.TargetCluster, item *workv1alpha2.AggregatedStatusItem) PlacementStatus {
	p := PlacementStatus{
		Cluster:   target.Name,
		Scheduled: true,
		Suspended: dispatchingSuspended(in.Binding.Spec.Suspension, target.Name),
		Applied:   item != nil && item.Applied,
	}
	seen := observe(in, target.Name, item)
	p.Desired = desired(in, target, seen, p.Suspended)
	p.Ready, p.Available, p.Updated = seen.counts(in.Kind)

	if reason := unobservable(in, target.Name); reason != "" {
		p.Stale = true
		p.Health, p.Message = HealthUnknown, reason
		if seen != nil {
			p.Message += "; the counts are the last known"
		}
		return p
	}
	p.Health, p.Message = placementHealth(in, p, seen, item)
	pending := in.PendingOverrides(target.Name)
	if pending == "" && in.earlierImages(target.Name, seen) {
		pending = "its images are still those of before a change of override policies"
	}
	if pending != "" && !p.Suspended {
		if p.Health == HealthHealthy {
			p.Health = HealthProgressing
		}
		p.Message = joinNotes(pending, p.Message)
	}
	if seen != nil && !held(in, p) && behind(in, seen) {
		p.Applied = false // Karmada says so of the change before.
	}
	return p
}

// leavingPlacement is a cluster outside the scheduling result in which
// something of the workload is left.
func leavingPlacement(in Facts, cluster string, item *workv1alpha2.AggregatedStatusItem) PlacementStatus {
	p := PlacementStatus{
		Cluster: cluster,
		Applied: item != nil && item.Applied,
		Health:  HealthProgressing,
	}
	if in.Kind != KindCronJob && (!in.Kind.Custom() || in.Binding.Spec.Replicas > 0) {
		p.Desired = ptr32(0)
	}
	p.Ready, p.Available, p.Updated = observe(in, cluster, item).counts(in.Kind)
	if unobservable(in, cluster) != "" {
		p.Stale = true
		p.Health = HealthUnknown
	}
	return p
}

// unobservable returns why a member cluster can't be trusted to say how it is; empty when it can.
func unobservable(in Facts, cluster string) string {
	if in.Members == nil {
		return ""
	}
	member, ok := in.Members[cluster]
	switch {
	case !ok:
		return "the instance has no such member cluster any more"
	case member.Ready == metav1.ConditionTrue:
		return ""
	case member.Ready == "":
		return "Karmada has not yet looked at the member cluster"
	case member.Message == "":
		return "the member cluster is not ready"
	}
	return "the member cluster is not ready: " + member.Message
}

// dispatchingSuspended repeats Karmada's own decision for one cluster.
func dispatchingSuspended(s *workv1alpha2.Suspension, cluster string) bool {
	if s == nil {
		return false
	}
	if s.Dispatching != nil && *s.Dispatching {
		return true
	}
	return s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster)
}

// suspended reports whether anything of the propagation is.
func suspended(binding *workv1alpha2.ResourceBinding, placements []PlacementStatus) bool {
	if binding == nil {
		return false
	}
	if schedulingSuspended(binding) {
		return true
	}
	return slices.ContainsFunc(placements, func(p PlacementStatus) bool { return p.Suspended })
}

// observation is what is known of the workload's object in one cluster.
type observation struct {
	status ObjectStatus
	// object is the member's own object; nil when the status comes from the binding.
	object *Object
	// generation of the member's object; 0 when unknown.
	generation int64
	// templateGeneration is the template's generation that the object was derived from; 0 when unknown.
	templateGeneration int64
	// karmadaHealth is the health that Karmada computed from the member's whole object: Healthy,
	// Unhealthy or Unknown.
	karmadaHealth workv1alpha2.ResourceHealth
	// custom are the replicas of a custom workload; nil for any other.
	custom *customCounts
}

// observe picks the best source for a cluster: the member's own object unless
// its collection is stale, else what Karmada aggregated; nil when there is neither.
func observe(in Facts, cluster string, item *workv1alpha2.AggregatedStatusItem) *observation {
	if in.Kind.Custom() {
		return observeCustom(item)
	}
	object := in.Objects[cluster]
	if object != nil && !object.BelongsTo(bindingID(in.Binding)) {
		object = nil
	}
	if object == nil || in.Members[cluster].CollectionStale {
		if seen := observeBinding(item); seen != nil || object == nil {
			return seen
		}
	}
	seen := &observation{
		status:             object.Status,
		object:             object,
		generation:         object.Generation,
		templateGeneration: object.templateGeneration(),
	}
	if item != nil {
		seen.karmadaHealth = item.Health
	}
	return seen
}

// observeBinding reads what Karmada aggregated of a cluster; nil when it is nothing.
func observeBinding(item *workv1alpha2.AggregatedStatusItem) *observation {
	if item == nil || item.Status == nil || len(item.Status.Raw) == 0 {
		return nil
	}
	var wrapped struct {
		Generation                 int64 `json:"generation"`
		ResourceTemplateGeneration int64 `json:"resourceTemplateGeneration"`
		ObjectStatus
	}
	if err := json.Unmarshal(item.Status.Raw, &wrapped); err != nil {
		// A status that cannot be read is as good as none: an interpreter of the
		// instance's own may write what it likes there.
		return nil
	}
	return &observation{
		status:             wrapped.ObjectStatus,
		generation:         wrapped.Generation,
		templateGeneration: wrapped.ResourceTemplateGeneration,
		karmadaHealth:      item.Health,
	}
}

// counts are ready, available and updated replicas; see PlacementStatus.
func (o *observation) counts(kind Kind) (ready, available, updated *int32) {
	if o == nil || kind == KindCronJob {
		return nil, nil, nil
	}
	if o.custom != nil {
		return o.custom.ready, o.custom.available, o.custom.updated
	}
	s := &o.status
	switch kind {
	case KindDaemonSet:
		return new(s.NumberReady), new(s.NumberAvailable), new(s.UpdatedNumberScheduled)
	case KindJob:
		return new(s.Succeeded), new(s.Succeeded), new(s.Succeeded + int32(s.Active))
	case KindDeployment, KindStatefulSet, KindCronJob, KindCustom:
	}
	return new(s.ReadyReplicas), new(s.AvailableReplicas), new(s.UpdatedReplicas)
}

// inSync reports whether the member's object is known and derived from the
// template's present generation, so that its spec says what is asked for now.
func (o *observation) inSync(in Facts, suspended bool) bool {
	return o != nil && o.object != nil && !suspended && o.templateGeneration >= in.Template.Generation
}

// desired is how many replicas the cluster was asked to run; see PlacementStatus.
func desired(in Facts, target workv1alpha2.TargetCluster, seen *observation, suspended bool) *int32 {
	if in.Kind.Custom() {
		return customDesired(in, target)
	}
	switch in.Kind {
	case KindCronJob, KindCustom:
		return nil
	case KindDaemonSet:
		// 0 is an answer only once the member's controller has looked.
		if seen == nil || seen.status.ObservedGeneration == 0 {
			return nil
		}
		return new(seen.status.DesiredNumberScheduled)
	case KindJob:
		if seen.inSync(in, suspended) {
			return new(completions(seen.object))
		}
		if jobDivided(in) && len(in.Binding.Spec.Clusters) > 1 {
			return nil
		}
		return new(completions(in.Template))
	case KindDeployment, KindStatefulSet:
		n, overridden := overriddenReplicas(in.overridesOf(target.Name))
		switch {
		case seen != nil && (retained(in, target.Name, seen) || (overridden && n == nil)):
			// The member alone knows what it wants; without its object, what it has is
			// the best guess.
			return new(seen.replicas())
		case n != nil:
			return n
		}
	}
	return new(target.Replicas)
}

// completions returns how many pods of a Job have to succeed. A Job without completions is a work
// queue: its pods end at the same time when the queue is empty, so the parallelism is the number of
// those that will have succeeded.
func completions(job *Object) int32 {
	switch {
	case job.Spec.Completions != nil:
		return *job.Spec.Completions
	case job.Spec.Parallelism != nil:
		return *job.Spec.Parallelism
	}
	return 1
}

// jobDivided reports whether Karmada divides the completions over the clusters.
func jobDivided(in Facts) bool {
	p := in.Binding.Spec.Placement
	return in.Template.Spec.Completions != nil && in.Binding.Spec.Replicas > 0 &&
		p != nil && p.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided
}

// sum adds up the scheduled placements.
func sum(in Facts, placements []PlacementStatus) ReplicaCounts {
	var total ReplicaCounts
	unknown, scheduled := false, false
	for i := range placements {
		p := &placements[i]
		if !p.Scheduled {
			continue
		}
		scheduled = true
		unknown = unknown || p.Desired == nil
		total.Desired += deref(p.Desired)
		total.Ready += deref(p.Ready)
		total.Available += deref(p.Available)
		total.Updated += deref(p.Updated)
	}
	// The share of each cluster may be unknown, but not the whole.
	if unknown && scheduled && in.Kind == KindJob && jobDivided(in) {
		total.Desired = completions(in.Template)
	}
	if n := undivided(in); n != nil && scheduled {
		total.Desired = *n
	}
	return total
}

func ptr32(n int32) *int32 { return &n } //nolint:modernize // It says the type, which new(0) would not.

func deref(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
