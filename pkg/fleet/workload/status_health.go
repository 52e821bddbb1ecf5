package workload

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Reasons and condition types that the Kubernetes controllers write and
// k8s.io/api does not declare as constants.
const (
	deploymentProgressing    = "Progressing"
	deploymentAvailable      = "Available"
	deploymentReplicaFailure = "ReplicaFailure"
	rolloutComplete          = "NewReplicaSetAvailable"
	jobComplete              = "Complete"
	jobFailed                = "Failed"
)

// placementHealth returns the health of the workload in a cluster that is scheduled and can be
// observed.
func placementHealth(in Facts, p PlacementStatus, seen *observation, item *workv1alpha2.AggregatedStatusItem) (Health, string) {
	failure := ""
	if item != nil && !item.Applied {
		failure = strings.TrimSpace(item.AppliedMessage)
	}
	switch {
	case p.Suspended && seen == nil && !p.Applied:
		return HealthUnpropagated, "dispatching is suspended by the policy; nothing was sent yet"
	case failure != "":
		return HealthDegraded, "the latest manifest could not be applied: " + failure
	case seen == nil && in.Kind == KindCronJob && p.Applied:
		// A CronJob that never ran has an empty status, which Karmada does not aggregate.
		return cronJobHealth(in, ObjectStatus{})
	case seen == nil && p.Applied:
		return HealthProgressing, "applied; the cluster has not reported a status yet"
	case seen == nil:
		return HealthProgressing, "waiting to be applied in this cluster"
	case !p.Applied && !p.Suspended:
		return HealthProgressing, "waiting for the latest manifest to be applied in this cluster"
	}

	health, message := kindHealth(in, p, seen)
	if health == HealthHealthy && seen.karmadaHealth == workv1alpha2.ResourceUnhealthy {
		// Karmada saw more than the binding holds (a StatefulSet's generations), or
		// the instance has an interpreter of its own for this kind.
		health, message = HealthProgressing, "Karmada does not report it healthy"
	}
	if p.Suspended {
		note := "dispatching is suspended by the policy"
		if behind(in, seen) {
			note += "; an earlier version runs"
		}
		message = joinNotes(note, message)
	}
	return health, message
}

// behind reports whether the member's object is known to be derived from an earlier template.
func behind(in Facts, seen *observation) bool {
	return seen.templateGeneration > 0 && seen.templateGeneration < in.Template.Generation
}

func kindHealth(in Facts, p PlacementStatus, seen *observation) (Health, string) {
	if in.Kind.Custom() {
		return customHealth(in.Kind, p, seen)
	}
	switch in.Kind {
	case KindJob:
		return jobHealth(in, p, &seen.status)
	case KindCronJob:
		return cronJobHealth(in, seen.status)
	case KindDeployment, KindStatefulSet, KindDaemonSet, KindCustom:
	}
	return rolloutHealth(in, p, seen)
}

// rolloutHealth is for the kinds that keep replicas running.
//
// Only a Deployment reports that it failed, by its conditions. A StatefulSet or DaemonSet has none,
// so that one whose pods crash stays PROGRESSING; its pods and events show why. A Deployment that
// falls below its minimum availability after its rollout was complete is DEGRADED at once: nothing
// in the objects distinguishes a crash from a large scale-up that is still starting, and a failure
// that is shown for some seconds too long is better than one that is hidden.
func rolloutHealth(in Facts, p PlacementStatus, seen *observation) (Health, string) {
	s := &seen.status
	progressing, available := s.condition(deploymentProgressing), s.condition(deploymentAvailable)
	switch {
	case s.isTrue(deploymentReplicaFailure):
		c := s.condition(deploymentReplicaFailure)
		return HealthDegraded, "replicas can't be created: " + object.JoinReason(c.Reason, c.Message)
	case progressing != nil && progressing.Status == metav1.ConditionFalse:
		return HealthDegraded, "the rollout failed: " + object.JoinReason(progressing.Reason, progressing.Message)
	case !held(in, p) && behind(in, seen):
		return HealthProgressing, "the latest change has not reached the cluster yet"
	case !held(in, p) && seen.scaledOtherwise(in.Kind, p.Desired):
		return HealthProgressing, fmt.Sprintf("the change to %d replicas has not reached the cluster yet", *p.Desired)
	case s.ObservedGeneration > 0 && s.ObservedGeneration < seen.generation:
		return HealthProgressing, "the cluster has not acted on the latest change yet"
	case p.Desired == nil:
		return HealthProgressing, "the cluster has not counted its nodes for it yet"
	}

	want := *p.Desired
	if held(in, p) && hasReplicas(in.Kind) {
		// Later changes are not sent: compare with the last Work that was.
		want = seen.replicas()
	}
	ready, updated := deref(p.Available), deref(p.Updated)
	switch {
	case updated < want && paused(in, p, seen):
		return HealthProgressing, fmt.Sprintf("the rollout is paused with %d of %d replicas updated", updated, want)
	case updated < want:
		return HealthProgressing, fmt.Sprintf("%d of %d replicas updated", updated, want)
	case ready < want && available != nil && available.Status == metav1.ConditionFalse &&
		progressing != nil && progressing.Reason == rolloutComplete:
		return HealthDegraded, fmt.Sprintf("only %d of %d replicas are available: %s",
			ready, want, object.JoinReason(available.Reason, available.Message))
	case ready < want:
		return HealthProgressing, fmt.Sprintf("%d of %d replicas available", ready, want)
	case hasReplicas(in.Kind) && s.Replicas > want:
		return HealthProgressing, fmt.Sprintf("%d surplus replicas are still to go", s.Replicas-want)
	case paused(in, p, seen):
		return HealthHealthy, "rollouts are paused"
	}
	return HealthHealthy, ""
}

// paused reports whether rollouts are paused in the cluster. The member's own object
// says so where it is up to date; else the template does.
func paused(in Facts, p PlacementStatus, seen *observation) bool {
	if seen.inSync(in, p.Suspended) {
		return seen.object.Spec.Paused
	}
	return in.Template.Spec.Paused
}

// jobHealth: PROGRESSING while it has work to do, HEALTHY once it completed or
// when it is suspended, DEGRADED once it failed. Pods that failed and are
// retried do not make it DEGRADED: that is what backoffLimit is for.
func jobHealth(in Facts, p PlacementStatus, s *ObjectStatus) (Health, string) {
	switch {
	case s.isTrue(jobFailed):
		c := s.condition(jobFailed)
		return HealthDegraded, "the Job failed: " + object.JoinReason(c.Reason, c.Message)
	case s.isTrue(jobComplete):
		return HealthHealthy, "completed"
	case in.Template.Spec.Suspend && s.Active == 0:
		return HealthHealthy, "the Job is suspended"
	}
	want := "?"
	if p.Desired != nil {
		want = fmt.Sprint(*p.Desired)
	}
	message := fmt.Sprintf("%d of %s completions, %d pods active", s.Succeeded, want, s.Active)
	if s.Failed > 0 {
		message += fmt.Sprintf(", %d failed", s.Failed)
	}
	return HealthProgressing, message
}

// cronJobHealth: DEGRADED when the last run that ended did not succeed, else
// HEALTHY. A run that succeeds sets lastSuccessfulTime to its end, which is
// after the time it was scheduled for; so when no run is active and the last
// success is older than the last schedule, that run failed.
func cronJobHealth(in Facts, s ObjectStatus) (Health, string) {
	suspended := ""
	if in.Template.Spec.Suspend {
		suspended = "the CronJob is suspended"
	}
	if s.LastScheduleTime != nil && s.Active == 0 &&
		(s.LastSuccessfulTime == nil || s.LastSuccessfulTime.Before(s.LastScheduleTime)) {
		return HealthDegraded, joinNotes(suspended, "the last run, scheduled for "+stamp(*s.LastScheduleTime)+", did not succeed")
	}
	switch {
	case s.Active > 0:
		return HealthHealthy, joinNotes(suspended, fmt.Sprintf("%d runs active", s.Active))
	case s.LastSuccessfulTime != nil:
		return HealthHealthy, joinNotes(suspended, "last run succeeded at "+stamp(*s.LastSuccessfulTime))
	}
	return HealthHealthy, joinNotes(suspended, "has not run yet")
}

// rollUp judges the workload as a whole. What stops it everywhere comes first
// (deletion, no policy, no cluster); then the worst of its placements, where a
// cluster that can't be observed is a missing part: DEGRADED, unless none can
// be observed, which is UNKNOWN.
func rollUp(in Facts, placements []PlacementStatus) (Health, string) {
	if in.Template == nil {
		return HealthUnknown, "its object in the instance is not known"
	}
	if in.Template.Deleting() {
		return HealthProgressing, deletionMessage(in.Template)
	}
	if in.Binding == nil {
		if ref := PolicyRefOf(in.Template); ref != nil {
			return HealthProgressing, fmt.Sprintf("%s claimed it; Karmada has not made its binding yet", ref)
		}
		return HealthUnpropagated, "no propagation policy selects it"
	}

	scheduled := make([]PlacementStatus, 0, len(placements))
	for i := range placements {
		if placements[i].Scheduled {
			scheduled = append(scheduled, placements[i])
		}
	}
	scheduling := meta.FindStatusCondition(in.Binding.Status.Conditions, workv1alpha2.Scheduled)
	if len(scheduled) == 0 {
		return notPlaced(in, scheduling)
	}
	roll := worst
	if in.Kind.Custom() {
		roll = worstCustom
	}
	health, message := roll(scheduled)
	if _, pending := in.PendingDecision(); pending != "" {
		if health == HealthHealthy {
			health = HealthProgressing
		}
		message = joinNotes(pending, message)
	}
	if in.Unmanaged() {
		if health == HealthHealthy || health == HealthProgressing {
			health = HealthUnmanaged
		}
		message = joinNotes("no propagation policy claims it any more: it stays where it was sent, and Karmada sends no further changes", message)
		return health, message
	}
	if scheduling != nil && scheduling.Status == metav1.ConditionFalse {
		// The clusters are those of the last scheduling that worked.
		if health != HealthUnknown {
			health = HealthDegraded
		}
		message = joinNotes("the latest change could not be scheduled: "+notScheduled(in, scheduling), message)
	}
	return health, message
}

// notPlaced judges a workload that has a binding and no cluster.
func notPlaced(in Facts, scheduling *metav1.Condition) (Health, string) {
	if in.Unmanaged() {
		return HealthUnpropagated, "no propagation policy claims it any more"
	}
	if schedulingSuspended(in.Binding) {
		return HealthUnscheduled, "its scheduling is suspended"
	}
	switch {
	case scheduling == nil || scheduling.Status == metav1.ConditionUnknown:
		return HealthProgressing, "waiting for Karmada's scheduler"
	case scheduling.Status == metav1.ConditionFalse:
		return HealthUnscheduled, notScheduled(in, scheduling)
	}
	return HealthUnscheduled, "the scheduler chose no cluster"
}

// notScheduled says why the scheduler failed: in its own words, which count the
// clusters, and by the term of the policy that none of them meets.
func notScheduled(in Facts, scheduling *metav1.Condition) string {
	said := object.JoinReason(scheduling.Reason, scheduling.Message)
	if unmet := unmetAffinity(in.Binding.Spec.Placement, in.Members); unmet != "" {
		return joinNotes(strings.TrimSuffix(said, "."), unmet)
	}
	return said
}

// worst is the roll-up of the scheduled placements; there is at least one.
func worst(placements []PlacementStatus) (Health, string) {
	count := make(map[Health]int, len(placements))
	for i := range placements {
		count[placements[i].Health]++
	}
	n := len(placements)
	health := HealthHealthy
	switch {
	case count[HealthDegraded] > 0:
		health = HealthDegraded
	case count[HealthUnknown] == n:
		health = HealthUnknown
	case count[HealthUnknown] > 0:
		health = HealthDegraded
	case count[HealthUnpropagated] == n:
		health = HealthUnpropagated
	case count[HealthProgressing] > 0 || count[HealthUnpropagated] > 0:
		health = HealthProgressing
	}
	return health, placementNotes(placements)
}

// placementNotes joins the messages of the placements, and names clusters with the same message
// once.
func placementNotes(placements []PlacementStatus) string {
	var order []string
	clusters := make(map[string][]string)
	for i := range placements {
		text := placements[i].Message
		if text == "" {
			continue
		}
		if _, seen := clusters[text]; !seen {
			order = append(order, text)
		}
		clusters[text] = append(clusters[text], placements[i].Cluster)
	}
	notes := make([]string, 0, len(order))
	for _, text := range order {
		notes = append(notes, strings.Join(clusters[text], ", ")+": "+text)
	}
	return joinNotes(notes...)
}

func deletionMessage(template *Object) string {
	message := "is being deleted since " + stamp(*template.DeletionTimestamp)
	if len(template.Finalizers) > 0 {
		message += ", waiting for the finalizers " + strings.Join(template.Finalizers, ", ")
	}
	return message
}

// String names the policy for a person.
func (r PolicyRef) String() string {
	if r.ClusterScoped() {
		return "ClusterPropagationPolicy " + r.Name
	}
	return "PropagationPolicy " + r.Namespace + "/" + r.Name
}

func joinNotes(notes ...string) string {
	kept := make([]string, 0, len(notes))
	for _, n := range notes {
		if n != "" {
			kept = append(kept, n)
		}
	}
	return strings.Join(kept, "; ")
}

func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
