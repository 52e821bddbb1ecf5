package clusterimport

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// memberCache holds the members that each instance had when it was last looked at, whichever owner
// joined them. The zero value is ready to use.
type memberCache struct {
	mu        sync.Mutex
	instances map[string]map[string]member
	// dropped is when the members of a Cluster were removed, by the Cluster's UID: a
	// look that began before does not bring them back.
	dropped map[string]time.Time
}

// longestLook is longer than any look at an instance lasts.
const longestLook = 10 * time.Minute

// member is a cluster as an instance has it.
type member struct {
	instance, name string
	// uid and generation are those of Karmada's object.
	uid        string
	generation int64
	// id is the UID of the cluster's namespace kube-system.
	id string
	// The values of the owner labels.
	cluster, owner, global, madeFor, membership string

	managed, ready, deleting bool
	// reserved means that Karmada has no credentials for it yet; see reserve.
	reserved bool
}

func memberOf(instance string, karmada *clusterv1alpha1.Cluster) member {
	labels, ready := karmada.Labels, readiness(karmada)
	return member{
		instance: instance, name: karmada.Name, uid: string(karmada.UID), generation: karmada.Generation, id: karmada.Spec.ID,
		cluster: labels[v1alpha1.ClusterLabel], owner: labels[v1alpha1.OwnerUIDLabel], global: labels[v1alpha1.GlobalClusterLabel],
		madeFor: labels[v1alpha1.InstanceLabel], membership: labels[v1alpha1.MembershipLabel], reserved: isReserved(karmada), managed: labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedByValue,
		ready: ready != nil && ready.Status == metav1.ConditionTrue, deleting: !karmada.DeletionTimestamp.IsZero(),
	}
}

// whose returns the owner that joined it, relative to a Cluster.
func (m member) whose(as ownerLabels) owner {
	switch {
	case !m.managed || m.owner == "":
		return ownedByOthers
	case m.global != as.global:
		return ownedByKairship
	case m.owner != as.uid:
		return ownedByAnother
	}
	return ownedByUs
}

// condition reports that the cluster belongs to another owner. If that is in another instance than
// the wanted one, the reason is always the same, so that users who see only the wanted one learn no
// more.
func (m member) condition(wants string) metav1.Condition {
	switch {
	case m.managed && m.owner != "":
		return v1alpha1.NotJoined(v1alpha1.ReasonJoinedElsewhere,
			fmt.Sprintf("The cluster is a member of instance %q as %q, for Cluster %q. A cluster is a member of one instance at most.", m.instance, m.name, m.cluster))
	case wants != "" && wants != m.instance:
		return v1alpha1.NotJoined(v1alpha1.ReasonJoinedElsewhere,
			fmt.Sprintf("The cluster is a member of instance %q as %q, and was not joined by Kairship. A cluster is a member of one instance at most.", m.instance, m.name))
	default:
		return v1alpha1.NotJoined(v1alpha1.ReasonForeign,
			fmt.Sprintf("The cluster is a member of instance %q as %q, and was not joined by Kairship. It is left alone.", m.instance, m.name))
	}
}

// put replaces the known members of an instance by those that a look saw which began at some time.
// It returns the members that were added, removed or changed.
func (r *memberCache) put(instance string, begun time.Time, seen []member) (changed []member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[string]member, len(seen))
	for _, m := range seen {
		if at, gone := r.dropped[m.owner]; gone && begun.Before(at) {
			continue
		}
		now[m.name] = m
	}
	before := r.instances[instance]
	for name, m := range now {
		if before[name] != m {
			changed = append(changed, m)
		}
	}
	for name, m := range before {
		if _, still := now[name]; !still {
			changed = append(changed, m)
		}
	}
	if r.instances == nil {
		r.instances = map[string]map[string]member{}
	}
	r.instances[instance] = now
	return changed
}

// tried notes that a reader looked at an instance and saw nothing.
func (r *memberCache) tried(instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instances == nil {
		r.instances = map[string]map[string]member{}
	}
	if _, known := r.instances[instance]; !known {
		r.instances[instance] = nil
	}
}

// forget drops an instance that is not registered any more.
func (r *memberCache) forget(instance string) (changed []member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.instances[instance] {
		changed = append(changed, m)
	}
	delete(r.instances, instance)
	return changed
}

// knows reports whether all these instances were looked at, if only in vain.
func (r *memberCache) knows(instances []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, instance := range instances {
		if _, known := r.instances[instance]; !known {
			return false
		}
	}
	return true
}

// drop forgets the members that were made for a Cluster, which left.
func (r *memberCache) drop(owner string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped == nil {
		r.dropped = map[string]time.Time{}
	}
	maps.DeleteFunc(r.dropped, func(_ string, at time.Time) bool { return time.Since(at) > longestLook })
	r.dropped[owner] = time.Now()
	for _, members := range r.instances {
		for name, m := range members {
			if m.owner == owner {
				delete(members, name)
			}
		}
	}
}

// find gives the first member that fits, in the order of instances and names, so
// that the same is said each time.
func (r *memberCache) find(fits func(member) bool) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []member
	for _, members := range r.instances {
		for _, m := range members {
			if !m.deleting && fits(m) {
				found = append(found, m)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	first := slices.MinFunc(found, func(a, b member) int {
		return slices.Compare([]string{a.instance, a.name}, []string{b.instance, b.name})
	})
	return &first
}

// ours is the member that was made for a Cluster; nil when there is none. One that was
// only reserved is none.
func (r *memberCache) ours(as ownerLabels) *member {
	return r.find(func(m member) bool { return m.whose(as) == ownedByUs && !m.reserved })
}

// joinedByOthers is the member that is this very cluster and was not made for it;
// nil when there is none. While it is not known which cluster it is, its name counts.
func (r *memberCache) joinedByOthers(as ownerLabels, name, id string) *member {
	return r.find(func(m member) bool {
		same := m.id == id
		if id == "" || m.id == "" {
			same = m.name == name
		}
		return same && m.whose(as) != ownedByUs
	})
}
