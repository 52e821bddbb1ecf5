package clusterindex

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/internal/excerpt"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	fleetcollection "github.com/kairship-io/kairship/pkg/fleet/collection"
)

// collection says in condition Indexed how Clusterpedia gets on. Its conditions
// build on each other: the spec is Validated, then the SynchroRunning, then the
// ClusterHealthy; after that each resource has a state of its own.
//
// Clusterpedia writes its status every 5 to 7.5 seconds and does not say which
// generation of the spec it is about, so after a change of the credentials the
// condition may be about the old ones for that long.
func collection(pedia *pediav1alpha2.PediaCluster) metav1.Condition {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(pedia.Status.Conditions, kind) }
	validated, running, healthy := find(pediav1alpha2.ValidatedCondition), find(pediav1alpha2.SynchroRunningCondition), find(pediav1alpha2.ClusterHealthyCondition)

	switch {
	case validated != nil && validated.Status == metav1.ConditionFalse:
		return v1alpha1.NotIndexed(v1alpha1.ReasonRejectedByIndex, "Clusterpedia does not accept the PediaCluster: "+excerpt.Of(validated.Message, mostOfIndex))
	case running != nil && running.Status == metav1.ConditionFalse && running.Reason == pediav1alpha2.SynchroInitialFailedReason:
		return v1alpha1.NotIndexed(v1alpha1.ReasonCollectionFailed, "Clusterpedia cannot begin to collect: "+excerpt.Of(running.Message, mostOfIndex))
	case healthy != nil && healthy.Status == metav1.ConditionFalse:
		return v1alpha1.NotIndexed(v1alpha1.ReasonSourceUnreachable,
			"Clusterpedia cannot reach the apiserver; what it had collected is still served: "+excerpt.Of(healthy.Message, mostOfIndex))
	}
	collected, failed, message := resourceStates(pedia)
	switch {
	case !isTrue(validated) || !isTrue(running) || !isTrue(healthy) || len(collected) == 0:
		return v1alpha1.IndexedUnknown(v1alpha1.ReasonPending,
			"Clusterpedia has not begun to collect yet. If this lasts, see whether its clustersynchro-manager is up.")
	case len(failed) > 0:
		return v1alpha1.NotIndexed(v1alpha1.ReasonCollectionFailed,
			fmt.Sprintf("Clusterpedia cannot collect %s: %s", some(failed), excerpt.Of(message, mostOfIndex)))
	case fleetcollection.MembersMissing(pedia):
		return v1alpha1.NotIndexed(v1alpha1.ReasonCollectionFailed,
			"Clusterpedia does not collect the member clusters, because the instance did not serve them when it looked. "+
				"It is asked to look again. If this lasts, see whether the instance's karmada-aggregated-apiserver is up.")
	}
	summary := fmt.Sprintf("Clusterpedia collects %d kinds of resources.", len(collected))
	if absent := missing(pedia.Spec.SyncResources, collected); len(absent) > 0 {
		summary += fmt.Sprintf(" Not served by this apiserver: %s.", some(absent))
	}
	return v1alpha1.Indexed(summary)
}

func isTrue(condition *metav1.Condition) bool {
	return condition != nil && condition.Status == metav1.ConditionTrue
}

// resourceStates are the resources that Clusterpedia found, those of them that
// it fails to collect, and the first one's message.
func resourceStates(pedia *pediav1alpha2.PediaCluster) (collected, failed []string, message string) {
	for _, group := range pedia.Status.SyncResources {
		for _, resource := range group.Resources {
			name := schema.GroupResource{Group: group.Group, Resource: resource.Name}.String()
			collected = append(collected, name)
			for _, state := range resource.SyncConditions {
				if state.Status == pediav1alpha2.ResourceSyncStatusError {
					failed = append(failed, name)
					if message == "" {
						message = state.Message
					}
					break
				}
			}
		}
	}
	return collected, failed, message
}

// unlisted returns the resources of which not everything was listed and stored yet.
func unlisted(pedia *pediav1alpha2.PediaCluster) (waiting []string) {
	for _, group := range pedia.Status.SyncResources {
		for _, resource := range group.Resources {
			for _, state := range resource.SyncConditions {
				if state.Status != pediav1alpha2.ResourceSyncStatusSyncing || state.InitialListPhase {
					waiting = append(waiting, schema.GroupResource{Group: group.Group, Resource: resource.Name}.String())
					break
				}
			}
		}
	}
	return waiting
}

// missing is what was asked for and is not among the collected.
func missing(asked []pediav1alpha2.ClusterGroupResources, collected []string) []string {
	var absent []string
	for _, group := range asked {
		for _, resource := range group.Resources {
			name := schema.GroupResource{Group: group.Group, Resource: resource}.String()
			if !slices.Contains(collected, name) {
				absent = append(absent, name)
			}
		}
	}
	return absent
}

// some names a few of many.
func some(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// mostOfIndex is how much of what Clusterpedia says a condition has, in characters.
const mostOfIndex = 300
