package freshness

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
)

const (
	// proofInterval is the longest time between two proofs that the global cluster and
	// the collector live, while they do. Where a proof is newer, the claim does not use
	// it: replicas hear of the same proof at different times, and would contradict each
	// other.
	proofInterval = 4 * time.Second
	// delivery is the time that a change in a watched cluster may take to get here.
	delivery = time.Second
	// lookGap is the longest time from the end of a look of the collector at a cluster
	// that went well to the moment at which it writes that the next one did not: 7.5
	// seconds between looks, 5 for the timeout, and 2.5 for what was on its way into the
	// index.
	lookGap = 15 * time.Second
	// probeGap is the same for condition Reachable: 11 seconds between looks, up to 11
	// more until two looks in 6 seconds agreed, and 3 to write it, in the Clusters of
	// instances a second time.
	probeGap = 25 * time.Second
	// lookTimeout bounds a look of the collector.
	lookTimeout = 5 * time.Second
	// retryGap is the longest time that the collector waits before it watches again what
	// refused a connection: 30 seconds, twice that with jitter, and a look to say so.
	retryGap = 70 * time.Second
)

// claim is up to which moment an answer is known to be complete. The zero time stands
// for no moment; an empty message for nothing that fails.
type claim struct {
	observedAt time.Time
	message    string
}

// join is the claim about two parts of an answer.
func (c claim) join(o claim) claim {
	c.observedAt = earlier(c.observedAt, o.observedAt)
	if o.message != "" {
		c.message = strings.TrimPrefix(c.message+"; "+o.message, "; ")
	}
	return c
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// before is a moment some time before another; the zero time stays zero.
func before(at time.Time, d time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(-d)
}

// watched is the claim about what is watched in the global cluster, which was last
// known to answer at a moment.
func watched(last time.Time, missed bool, now time.Time) claim {
	c := claim{observedAt: before(earlier(last, now.Add(-proofInterval)), delivery)}
	if missed || now.Sub(c.observedAt) > StaleAfter-lookGap {
		c.message = "the global cluster is not heard of"
	}
	return c
}

// collecting is the claim about the collector's life, which was last proven at a moment.
func collecting(last, now time.Time) claim {
	switch {
	case last.IsZero():
		return claim{message: "the collector of the index was never heard of: it renews no Lease that Kairship knows"}
	case now.Sub(last) > StaleAfter-lookGap:
		return claim{observedAt: last, message: "the collector of the index does not run"}
	}
	return claim{observedAt: last}
}

// collected is the claim that the record of a cluster allows, while the collector, which
// began at a moment, is known to live, and to have written nothing else, up to another.
func collected(pc *pediav1alpha2.PediaCluster, began, proven time.Time) claim {
	healthy := meta.FindStatusCondition(pc.Status.Conditions, pediav1alpha2.ClusterHealthyCondition)
	running := meta.FindStatusCondition(pc.Status.Conditions, pediav1alpha2.SynchroRunningCondition)
	switch {
	case running == nil || healthy == nil:
		return claim{message: "collection from " + pc.Name + " has not started"}
	case running.Status != metav1.ConditionTrue:
		// Whether it went well until then was overwritten.
		return claim{message: fmt.Sprintf("collection from %s is not running (%s)", pc.Name, running.Reason)}
	case healthy.Status != metav1.ConditionTrue:
		c := claim{message: fmt.Sprintf("%s does not answer the index (%s)", pc.Name, healthy.Reason)}
		// It was well once in this run, unless the very first look failed.
		if at := healthy.LastTransitionTime.Add(-lookGap); healthy.Status == metav1.ConditionFalse && !at.Before(running.LastTransitionTime.Time) {
			c.observedAt = earlier(at, before(proven, lookGap))
		}
		return c
	}
	if kind := interrupted(pc, healthy.LastTransitionTime.Time, began, proven); kind != "" {
		return claim{message: fmt.Sprintf("the index does not have all of %s yet: %s", pc.Name, kind)}
	}
	return claim{observedAt: before(proven, lookGap)}
}

// interrupted names a kind of object that is not known to be followed since the cluster
// is healthy and the collector began, and its state; it is empty when there is none.
func interrupted(pc *pediav1alpha2.PediaCluster, healthy, began, proven time.Time) string {
	kinds := 0
	for _, group := range pc.Status.SyncResources {
		for _, resource := range group.Resources {
			name := schema.GroupResource{Group: group.Group, Resource: resource.Name}.String()
			for _, kind := range resource.SyncConditions {
				kinds++
				switch {
				case kind.Status != pediav1alpha2.ResourceSyncStatusSyncing:
					return strings.TrimSpace(fmt.Sprintf("%s is %s %s", name, kind.Status, kind.Reason))
				// What another collector wrote says nothing about this one. The record has
				// whole seconds.
				case kind.LastTransitionTime.Time.Before(began.Truncate(time.Second)):
					return name + " is not followed yet by the collector that runs now"
				// A watch that is only opened again does not change the state: what lasts
				// longer than any wait for that has been opened.
				case kind.LastTransitionTime.Time.Before(healthy.Add(-lookTimeout)) && proven.Sub(healthy) < retryGap:
					return name + " is not known to be followed again"
				}
			}
		}
	}
	switch {
	case kinds == 0:
		return "no kind is collected"
	case collection.MembersMissing(pc):
		return "the member clusters are not collected"
	}
	return ""
}

// reachable is the claim that our own condition of a cluster allows. It counts where it
// is newer than what Clusterpedia says: Clusterpedia calls a cluster healthy again
// sooner than our controller looks.
func reachable(c *v1alpha1.Cluster, pc *pediav1alpha2.PediaCluster, proven time.Time) claim {
	reachable := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReachable)
	healthy := meta.FindStatusCondition(pc.Status.Conditions, pediav1alpha2.ClusterHealthyCondition)
	if reachable == nil || reachable.Status != metav1.ConditionFalse || healthy == nil ||
		!reachable.LastTransitionTime.After(healthy.LastTransitionTime.Time) {
		return claim{observedAt: proven}
	}
	return claim{
		observedAt: reachable.LastTransitionTime.Add(-probeGap),
		message:    fmt.Sprintf("%s cannot be reached (%s)", c.Name, reachable.Reason),
	}
}
