// Package freshness tells how old an answer of the index may be.
//
// The index itself does not say: it answers with what it collected last. What
// is known is in the PediaCluster of each cluster, which Clusterpedia keeps:
// whether it still follows the cluster, and since when not.
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

// Live is the freshness of something that is watched at its source.
func Live(now time.Time) Freshness {
	zero := 0.0
	return Freshness{Source: SourceLive, ObservedAt: &now, Lag: &zero}
}

// healthInterval is how often Clusterpedia checks that a cluster answers. A
// cluster that it found unhealthy was last known to be well that much earlier.
const healthInterval = 5 * time.Second

// Tracker knows the state of collection of every cluster.
type Tracker struct {
	pediaClusters client.Reader
	now           func() time.Time
}

// NewTracker makes a Tracker that reads PediaClusters from a cache.
func NewTracker(pediaClusters client.Reader, now func() time.Time) *Tracker {
	return &Tracker{pediaClusters: pediaClusters, now: now}
}

// Of tells the freshness of an answer that the index just gave about some
// clusters: that of the one which is most behind. An answer about no cluster
// is as fresh as its reading.
func (t *Tracker) Of(ctx context.Context, clusters ...string) Freshness {
	now := t.now()
	worst := collection{observedAt: now}
	for _, name := range sorted(clusters) {
		var pc clusterpediav1alpha2.PediaCluster
		c := collection{message: name + " is not registered in the index"}
		switch err := t.pediaClusters.Get(ctx, client.ObjectKey{Name: name}, &pc); {
		case err == nil:
			c = collectionOf(&pc, now)
		case !apierrors.IsNotFound(err):
			c = collection{message: "the state of collection from " + name + " is not known"}
		}
		worst = worst.join(c)
	}
	f := Freshness{Source: SourceIndex, Stale: worst.message != ""}
	if f.Stale {
		f.Message = &worst.message
	}
	if !worst.observedAt.IsZero() {
		lag := max(0, now.Sub(worst.observedAt).Seconds())
		f.ObservedAt, f.Lag = &worst.observedAt, &lag
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
			observedAt: healthy.LastTransitionTime.Add(-healthInterval),
			message:    fmt.Sprintf("%s does not answer the index (%s)", pc.Name, healthy.Reason),
		}
	}
	return collection{observedAt: now}
}
