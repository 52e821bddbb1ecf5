package freshness

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
)

// Tracker knows the state of collection of every cluster.
type Tracker struct {
	// Inventory is the watch on the global cluster: PediaClusters and Clusters.
	Inventory client.Reader
	// Collector beats whenever the collector renews its Lease.
	Collector *Heartbeat
	// Global beats whenever the global cluster answers while all watches on it are open.
	Global *Heartbeat
	Now    func() time.Time

	mu sync.Mutex
	// claimed is the latest moment that was claimed of each cluster, by name.
	claimed map[string]claimed
}

// claimed is what was claimed of the cluster with a record of this UID.
type claimed struct {
	record types.UID
	at     time.Time
}

// Live is the freshness of what is watched in the global cluster.
func (t *Tracker) Live(ctx context.Context) Freshness {
	now := t.Now()
	return freshness(ctx, SourceLive, t.watched(now), now)
}

func (t *Tracker) watched(now time.Time) claim {
	last, missed := t.Global.Last()
	return watched(last, missed, now)
}

// Of is the freshness of an answer that the index just gave about some clusters: that
// of the cluster which is most behind. An answer about no cluster is as fresh as what
// is watched in the global cluster, which reports that there is none.
func (t *Tracker) Of(ctx context.Context, clusters ...string) Freshness {
	now := t.Now()
	worst := t.watched(now)
	if len(clusters) > 0 {
		last, _ := t.Collector.Last()
		worst = worst.join(collecting(last, now))
	}
	proven := worst.observedAt
	for _, name := range sorted(clusters) {
		worst = worst.join(t.cluster(ctx, name, proven))
	}
	return freshness(ctx, SourceIndex, worst, now)
}

// cluster is the claim about one cluster, while the collector is known to live and to
// have written nothing else up to a moment. It never goes back.
func (t *Tracker) cluster(ctx context.Context, name string, proven time.Time) claim {
	var pc pediav1alpha2.PediaCluster
	switch err := t.Inventory.Get(ctx, client.ObjectKey{Name: name}, &pc); {
	case apierrors.IsNotFound(err):
		return claim{message: name + " is not registered in the index"}
	case err != nil:
		return claim{message: "the state of collection from " + name + " is not known"}
	}
	switch others, err := collection.ByOthers(ctx, t.Inventory, name); {
	case err != nil:
		return claim{message: "the state of collection from " + name + " is not known"}
	case others:
		return claim{message: "the index collects objects of another owner as " + name + ", which is not shown"}
	}
	c := collected(&pc, t.Collector.Began(), proven)
	var ours v1alpha1.Cluster
	if c.message == "" && t.Inventory.Get(ctx, client.ObjectKey{Name: name}, &ours) == nil {
		c = c.join(reachable(&ours, &pc, proven))
	}
	c.observedAt = t.remember(&pc, c.observedAt)
	return c
}

// CollectionFails reports whether the index is known not to follow a cluster, by its
// record and by our own condition of the cluster. It does not ask whether the collector
// lives: that concerns all clusters, and Of says it.
func CollectionFails(ctx context.Context, inventory client.Reader, name string, now time.Time) bool {
	t := &Tracker{Inventory: inventory, Collector: NewHeartbeat(func() time.Time { return now })}
	return t.cluster(ctx, name, now).message != ""
}

// remember returns the latest moment that was claimed of a cluster: what was proven
// once stays so, whatever is known now.
func (t *Tracker) remember(pc *pediav1alpha2.PediaCluster, at time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.claimed[pc.Name]
	if before.record == pc.UID && !at.After(before.at) {
		return before.at
	}
	if t.claimed == nil {
		t.claimed = map[string]claimed{}
	}
	t.claimed[pc.Name] = claimed{pc.UID, at}
	return at
}

// freshness is what a claim says at a moment.
func freshness(ctx context.Context, source Source, c claim, now time.Time) Freshness {
	f := Freshness{Source: source}
	if !c.observedAt.IsZero() {
		at := c.observedAt
		if begun, ok := ctx.Value(begunKey{}).(time.Time); ok {
			at = earlier(at, begun)
		}
		lag := max(0, now.Sub(at).Seconds())
		f.ObservedAt, f.Lag = &at, &lag
		if c.message == "" && lag > StaleAfter.Seconds() {
			c.message = "the answer took long, or clocks differ"
		}
	} else if c.message == "" {
		c.message = "nothing is known yet"
	}
	if f.Stale = c.message != ""; f.Stale {
		f.Message = &c.message
	}
	return f
}

type begunKey struct{}

// Begin notes in a context when reading begins: what is read later is read at that
// moment at the earliest, and no freshness claims a later one.
func Begin(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, begunKey{}, at)
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
