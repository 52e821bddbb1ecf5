// Package workload computes the state of workloads that Karmada spreads over member
// clusters: desired and ready replicas, health and placements.
//
// The files status*.go are pure functions over objects that the caller has
// read; they do no I/O, read no clock and keep no state, so the same objects
// always give the same answer, whichever query asks and whichever path (index
// or watch) delivered them. Callers that want one answer everywhere give the
// same inputs everywhere: see Facts.
package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Facts are the objects that the state of one workload is computed from. Only Template is required;
// each missing part makes the answer coarser as its field says, never wrong.
type Facts struct {
	// Kind of the workload. It decides what "desired" and "ready" mean.
	Kind Kind

	// Template is the object in the instance (Karmada's resource template).
	Template *Object

	// Binding is the ResourceBinding that Karmada made for the template; nil
	// when there is none. Workloads are namespaced, so Karmada always makes a
	// ResourceBinding, also for a ClusterPropagationPolicy.
	Binding *workv1alpha2.ResourceBinding

	// Policy is the policy that claimed the template, of either kind; nil when it is not
	// known. It shows whether the binding has the policy's latest placement, and whether the
	// claim is about to end.
	Policy *policyv1alpha1.PropagationPolicy

	// PolicyMissing reports that the policy that claimed the template is known not to exist. Karmada removes its
	// claim before the policy, and the two are watched separately; the claim may also have been left behind.
	PolicyMissing bool

	// Members are the instance's member clusters by name. A nil map means that
	// the caller did not look: every cluster counts as reachable. In a map that
	// is not nil, a missing cluster is one that the instance no longer has.
	Members map[string]Member

	// Objects are the workload's own objects in the member clusters, by
	// cluster; an object that does not belong to the binding (see
	// Object.BelongsTo) is ignored. Without one, the counts are those that
	// Karmada last aggregated into the binding, which lack the object's
	// conditions: a failing rollout then shows as PROGRESSING instead of
	// DEGRADED.
	Objects map[string]*Object

	// Overrides are what Karmada recorded on the Works about override policies, by
	// cluster; a cluster without a Work is missing. The record may be of policies that no longer exist.
	Overrides map[string][]AppliedOverride

	// OverridePolicies are the OverridePolicies of the workload's namespace and the
	// ClusterOverridePolicies of the instance, which have no namespace and else are the
	// same. Nil means that the caller did not look.
	OverridePolicies []*policyv1alpha1.OverridePolicy
}

// Member is what matters here of a member cluster.
type Member struct {
	// Ready is the status of the member's Ready condition in the instance;
	// empty while Karmada has not looked yet.
	Ready metav1.ConditionStatus
	// Message is Karmada's reason and text for a member that is not ready.
	Message string
	// CollectionStale reports whether the index no longer follows this cluster, so
	// that Facts.Objects of it may be old. The binding's aggregated status,
	// which the instance keeps current, is then preferred.
	CollectionStale bool
	// Cluster is Karmada's object, which holds why a workload was not scheduled to
	// the member; nil when it is not known.
	Cluster *clusterv1alpha1.Cluster
}

// MemberOf reads a Member from Karmada's Cluster object. CollectionStale is
// not known there; the caller sets it from the index.
func MemberOf(cluster *clusterv1alpha1.Cluster) Member {
	for _, c := range cluster.Status.Conditions {
		if c.Type != clusterv1alpha1.ClusterConditionReady {
			continue
		}
		m := Member{Ready: c.Status, Cluster: cluster}
		if c.Status != metav1.ConditionTrue {
			m.Message = object.JoinReason(c.Reason, c.Message)
		}
		return m
	}
	return Member{Cluster: cluster}
}

// ReplicaCounts are replicas summed over the clusters that a workload is
// scheduled to (see PlacementStatus for what each count means per kind). A
// workload that is scheduled nowhere has zero of each, whatever its template
// says: no one was asked to run it.
type ReplicaCounts struct {
	// Desired is how many replicas the clusters are to run: what they were asked for,
	// and before the scheduler has divided a change, what the change asks for.
	Desired int32
	// Ready is how many of them are ready.
	Ready int32
	// Available is how many have been ready for the kind's minimum time.
	Available int32
	// Updated is how many run the latest template.
	Updated int32
}

// PlacementStatus is the state of a workload in one member cluster.
//
// The counts are nil while unknown, and 0 then in the sum. Their meaning by kind:
//
//   - Deployment, StatefulSet: desired is what the binding assigns to the
//     cluster, divided or duplicated, or what an override policy made of it; where
//     the member decides (an autoscaler with retained replicas), its own
//     spec.replicas. Ready, available and updated are those of the member's status.
//   - DaemonSet: desired is the member's desiredNumberScheduled, because only
//     the member knows how many of its nodes match; nil until it says so.
//   - Job: desired is the completions (one for a Job without completions and
//     parallelism, the parallelism for a work queue); ready and available are the
//     pods that succeeded, as in kubectl's COMPLETIONS; updated adds the active
//     ones, since a Job's template never changes. A Job that Karmada divides gets
//     its share of the completions from the member's own object; nil without it.
//   - CronJob: it has no replicas; all counts are nil, and 0 in the sum.
//   - A custom workload: desired is what the binding assigns, nil where Karmada's interpreter knows no
//     replicas of the kind; the others are the fields of these names in the aggregated status.
type PlacementStatus struct {
	// Cluster is the member cluster's name.
	Cluster string
	// Scheduled is false for a cluster from which the workload is being removed: it is being
	// evicted, or its objects still have to be deleted there. Such a placement is listed, but
	// neither counted nor part of the health.
	Scheduled bool
	// Evicting reports whether Karmada moves the workload away from this cluster gracefully.
	Evicting bool
	// Suspended reports whether a policy keeps changes from being sent to this cluster.
	Suspended bool
	// Applied reports whether the latest manifest that was sent to the cluster was
	// applied there; while Suspended, it may be an earlier one.
	Applied bool
	// Stale reports whether the cluster cannot be observed now, so that the counts are the last known ones.
	Stale bool

	Desired   *int32
	Ready     *int32
	Available *int32
	Updated   *int32

	// Health of this placement alone; never UNSCHEDULED.
	Health Health
	// Message says for a person why Health is what it is; may be empty when HEALTHY.
	Message string
}

// Status is the state that is computed from Facts.
type Status struct {
	Replicas ReplicaCounts
	Health   Health
	Message  string
	// Suspended reports whether a policy keeps changes from at least one cluster that
	// the workload is scheduled to, or keeps it from being scheduled.
	Suspended  bool
	Placements []PlacementStatus
	// BindingID is Karmada's ID of the binding, which the objects in the members carry; see
	// Object.BelongsTo.
	BindingID string
}

// Evaluate computes the whole Status. Use it where more than one part is
// needed; replicasOf, healthOf and placementsOf call it.
func Evaluate(in Facts) Status {
	placements := placementsOf(in)
	health, message := rollUp(in, placements)
	return Status{
		Replicas:   sum(in, placements),
		Health:     health,
		Message:    message,
		Suspended:  suspended(in.Binding, placements),
		Placements: placements,
		BindingID:  bindingID(in.Binding),
	}
}

// bindingID is Karmada's ID of a binding; empty for none.
func bindingID(b *workv1alpha2.ResourceBinding) string {
	if b == nil {
		return ""
	}
	return b.Labels[workv1alpha2.ResourceBindingPermanentIDLabel]
}
