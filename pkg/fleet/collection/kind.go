package collection

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/index"
)

// State is how much the index has of a kind.
type State int

const (
	// None means that the kind is not collected.
	None State = iota
	// Arriving means that the kind is listed, perhaps anew: what the index has of it is from
	// before, or it is the first part.
	Arriving
	// Whole means that the index has what there is, as far as its freshness says.
	Whole
)

// Kind returns how much the index has of a kind of a cluster, in exactly this version. It follows
// from the state that the collector reports and not from its configuration: a cluster may not serve
// all of that. For a cluster that no longer answers, the index has the last known objects. A
// cluster whose name another owner took counts as Whole, so that reads of it end where its objects
// are hidden.
func Kind(ctx context.Context, watched client.Reader, cluster string, of schema.GroupVersionResource) (State, error) {
	others, err := ByOthers(ctx, watched, cluster)
	if err != nil || others {
		return Whole, err
	}
	var pc pediav1alpha2.PediaCluster
	if found, err := get(ctx, watched, cluster, &pc); err != nil || !found {
		return None, err
	}
	for _, group := range pc.Status.SyncResources {
		if group.Group != of.Group {
			continue
		}
		for _, resource := range group.Resources {
			if resource.Name != of.Resource {
				continue
			}
			for i := range resource.SyncConditions {
				if c := &resource.SyncConditions[i]; c.Version == of.Version {
					return stateIn(&pc, c), nil
				}
			}
		}
	}
	return None, nil
}

// beginsWithin is the longest time in which a collector that begins anew, with all kinds of
// a cluster, lists the first and the last of them.
const beginsWithin = 2 * time.Minute

// stateIn is the state of a kind among the others of its cluster. One that is listed while
// others were followed for long is new: the index has nothing of it from before.
func stateIn(pc *pediav1alpha2.PediaCluster, c *pediav1alpha2.ClusterResourceSyncCondition) State {
	state := stateOf(c)
	if state != Arriving {
		return state
	}
	for _, group := range pc.Status.SyncResources {
		for _, resource := range group.Resources {
			for i := range resource.SyncConditions {
				other := &resource.SyncConditions[i]
				if other.Status == pediav1alpha2.ResourceSyncStatusSyncing && stateOf(other) == Whole &&
					other.LastTransitionTime.Time.Before(c.LastTransitionTime.Add(-beginsWithin)) {
					return None
				}
			}
		}
	}
	return Arriving
}

// stateOf reads the record of a kind. It is Pending before its first list in the life of a
// collector, and in its InitialListPhase until that is stored.
func stateOf(c *pediav1alpha2.ClusterResourceSyncCondition) State {
	if c.Status == pediav1alpha2.ResourceSyncStatusPending || c.InitialListPhase {
		return Arriving
	}
	return Whole
}

// MembersMissing reports whether the collector is to collect the member clusters of an instance and
// does not. Karmada serves them by an API server of its own. While that is not available the
// collector takes them for a kind that is not served: it removes what it has of them, and does not
// always notice when they are served again.
func MembersMissing(pc *pediav1alpha2.PediaCluster) bool {
	asked := Kinds(pc.Spec.SyncResources).Has(index.MemberClusters.GroupVersionResource())
	return asked && !slices.ContainsFunc(pc.Status.SyncResources, func(g pediav1alpha2.ClusterGroupResourcesStatus) bool {
		return g.Group == index.MemberClusters.Group && slices.ContainsFunc(g.Resources, func(r pediav1alpha2.ClusterResourceStatus) bool {
			return r.Name == index.MemberClusters.Resource
		})
	})
}
