// Package freshness tells how old an answer of the index may be.
//
// The index itself does not say: it answers with what it collected last. So
// several witnesses are heard, and the most pessimistic is believed:
//
//   - the PediaCluster of each cluster, in which Clusterpedia says whether it
//     still follows the cluster, and since when not;
//   - the collector's Lease, because a dead collector leaves its PediaClusters as
//     they were;
//   - condition Reachable of our own Cluster, because Clusterpedia may fail to
//     write what it sees;
//   - an answer of the global cluster, because all of the above is watched there.
package freshness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterpediav1alpha2 "github.com/clusterpedia-io/api/cluster/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collected"
)

// Source is where an answer was read.
type Source string

// The sources.
const (
	SourceIndex Source = "INDEX"
	SourceLive  Source = "LIVE"
)

// Freshness is how old an answer may be.
type Freshness struct {
	Source Source
	// ObservedAt is the latest moment at which the answer is known to have been
	// true; nil when nothing was ever collected.
	ObservedAt *time.Time
	// Lag is the seconds from ObservedAt to the answer.
	Lag *float64
	// Stale tells that collection from a cluster concerned is failing.
	Stale bool
	// Message says what is failing, for a person.
	Message *string
}

// healthGap is the longest time from a look of Clusterpedia's at a cluster that
// went well to the moment at which it says that the next one did not: it looks
// every 5 to 7.5 seconds, and a look may last 5 seconds. A cluster that it found
// unhealthy was last known to be well that much earlier.
const healthGap = 12500 * time.Millisecond

// probeGap is the same of our own controller's looks, unless it is told otherwise:
// they are at most 11 seconds apart, and one may last 5 seconds.
const probeGap = 16 * time.Second

// LiveAt is the freshness of what was read from its own cluster at a moment.
func LiveAt(at time.Time) Freshness {
	return Freshness{Source: SourceLive, ObservedAt: &at, Lag: new(float64)}
}

// Overlaid is the freshness of a list in which some objects were read from their
// own clusters: what they are is known, and the rest is as old as it was.
func (f Freshness) Overlaid() Freshness {
	f.Source = SourceLive
	return f
}

// Tracker knows the state of collection of every cluster.
type Tracker struct {
	// Inventory is the watch on the global cluster: PediaClusters and Clusters.
	Inventory client.Reader
	// Collector is heard of whenever the collector renews its Lease.
	Collector *Pulse
	// Global is heard of whenever the global cluster answers.
	Global *Pulse
	Now    func() time.Time
}

// Live tells the freshness of what is watched in the global cluster.
func (t *Tracker) Live() Freshness {
	return t.freshness(SourceLive, t.watched())
}

// watched is the state of the watch on the global cluster.
func (t *Tracker) watched() collection {
	if last, lost := t.Global.Lost(); lost {
		return collection{observedAt: last, message: "the global cluster is not heard of"}
	}
	return collection{observedAt: t.Now()}
}

// Of tells the freshness of an answer that the index just gave about some
// clusters: that of the one which is most behind. An answer about no cluster
// is as fresh as its reading.
func (t *Tracker) Of(ctx context.Context, clusters ...string) Freshness {
	worst := t.watched()
	if last, lost := t.Collector.Lost(); lost && len(clusters) > 0 {
		worst = worst.join(collection{observedAt: last, message: "the collector of the index does not run"})
	}
	for _, name := range sorted(clusters) {
		worst = worst.join(t.cluster(ctx, name))
	}
	return t.freshness(SourceIndex, worst)
}

// cluster is the state of collection from one cluster.
func (t *Tracker) cluster(ctx context.Context, name string) collection {
	var pc clusterpediav1alpha2.PediaCluster
	switch err := t.Inventory.Get(ctx, client.ObjectKey{Name: name}, &pc); {
	case apierrors.IsNotFound(err):
		return collection{message: name + " is not registered in the index"}
	case err != nil:
		return collection{message: "the state of collection from " + name + " is not known"}
	}
	switch others, err := collected.ByOthers(ctx, t.Inventory, name); {
	case err != nil:
		return collection{message: "the state of collection from " + name + " is not known"}
	case others:
		return collection{message: "the index collects something of somebody else's as " + name + ", which is not shown"}
	}
	state := collectionOf(&pc, t.Now())
	if state.message != "" {
		return state
	}
	var c v1alpha1.Cluster
	if err := t.Inventory.Get(ctx, client.ObjectKey{Name: name}, &c); err != nil {
		return state
	}
	return state.join(reachabilityOf(&c, &pc, t.Now()))
}

func (t *Tracker) freshness(source Source, c collection) Freshness {
	f := Freshness{Source: source, Stale: c.message != ""}
	if f.Stale {
		f.Message = &c.message
	}
	if !c.observedAt.IsZero() {
		lag := max(0, t.Now().Sub(c.observedAt).Seconds())
		f.ObservedAt, f.Lag = &c.observedAt, &lag
	}
	return f
}

// Stale tells whether collection from the cluster is failing.
func (t *Tracker) Stale(ctx context.Context, cluster string) bool { return t.Of(ctx, cluster).Stale }

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// collection is the state of collection from one cluster. The zero time stands
// for never; an empty message for all well.
type collection struct {
	observedAt time.Time
	message    string
}

func (c collection) join(o collection) collection {
	if o.observedAt.Before(c.observedAt) {
		c.observedAt = o.observedAt
	}
	if o.message != "" {
		c.message = strings.TrimPrefix(c.message+"; "+o.message, "; ")
	}
	return c
}

// collectionOf reads the conditions of a PediaCluster.
func collectionOf(pc *clusterpediav1alpha2.PediaCluster, now time.Time) collection {
	healthy := meta.FindStatusCondition(pc.Status.Conditions, clusterpediav1alpha2.ClusterHealthyCondition)
	running := meta.FindStatusCondition(pc.Status.Conditions, clusterpediav1alpha2.SynchroRunningCondition)
	switch {
	case running == nil || healthy == nil:
		return collection{message: "collection from " + pc.Name + " has not started"}
	case running.Status != metav1.ConditionTrue:
		return collection{
			observedAt: running.LastTransitionTime.Time,
			message:    fmt.Sprintf("collection from %s is not running (%s)", pc.Name, running.Reason),
		}
	case healthy.Status != metav1.ConditionTrue:
		return collection{
			observedAt: healthy.LastTransitionTime.Add(-healthGap),
			message:    fmt.Sprintf("%s does not answer the index (%s)", pc.Name, healthy.Reason),
		}
	}
	return collection{observedAt: now}
}

// reachabilityOf reads our own condition of a cluster. It counts where it is
// newer than what Clusterpedia says: Clusterpedia calls a cluster healthy again
// sooner than our controller looks.
func reachabilityOf(c *v1alpha1.Cluster, pc *clusterpediav1alpha2.PediaCluster, now time.Time) collection {
	reachable := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReachable)
	healthy := meta.FindStatusCondition(pc.Status.Conditions, clusterpediav1alpha2.ClusterHealthyCondition)
	if reachable == nil || reachable.Status != metav1.ConditionFalse || healthy == nil ||
		!reachable.LastTransitionTime.After(healthy.LastTransitionTime.Time) {
		return collection{observedAt: now}
	}
	return collection{
		observedAt: reachable.LastTransitionTime.Add(-probeGap),
		message:    fmt.Sprintf("%s cannot be reached (%s)", c.Name, reachable.Reason),
	}
}
