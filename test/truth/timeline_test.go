package truth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// objectKey names an object. All are in one namespace.
type objectKey struct{ Cluster, Kind, Name string }

// version is an object as a revision of etcd made it.
type version struct {
	Revision int64
	// Fact is nil when the object was deleted.
	Fact any
}

// timeline holds the versions of all recorded objects, oldest first.
type timeline struct {
	mu       sync.Mutex
	versions map[objectKey][]version
	// pods is made of them by seal: what the pods of each workload in each cluster were.
	pods map[podsKey]*podHistory
}

type podsKey struct{ Cluster, App string }

func newTimeline() *timeline { return &timeline{versions: map[objectKey][]version{}} }

// add adds a version of an object, unless it is known.
func (t *timeline) add(key objectKey, v version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.versions[key]
	switch {
	case len(all) == 0 && v.Fact == nil:
		return // The deletion of what was never seen.
	case len(all) > 0 && all[len(all)-1].Revision >= v.Revision:
		return
	}
	t.versions[key] = append(all, v)
}

// last is the revision of the newest version of each object of a kind in a cluster that is not deleted.
func (t *timeline) last(cluster, kind string) map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]int64{}
	for key, all := range t.versions {
		if v := all[len(all)-1]; key.Cluster == cluster && key.Kind == kind && v.Fact != nil {
			found[key.Name] = v.Revision
		}
	}
	return found
}

// at is an object at a revision: nil when there was none.
func (t *timeline) at(key objectKey, revision int64) any {
	all := t.versions[key]
	n, found := slices.BinarySearchFunc(all, revision, func(v version, r int64) int { return cmp.Compare(v.Revision, r) })
	if !found {
		n-- // The last one before.
	}
	if n < 0 {
		return nil
	}
	return all[n].Fact
}

// changes are the revisions in an interval, without its beginning, at which an object changed.
func (t *timeline) changes(key objectKey, after, until int64) []int64 {
	var found []int64
	for _, v := range t.versions[key] {
		if v.Revision > after && v.Revision <= until {
			found = append(found, v.Revision)
		}
	}
	return found
}

// begun is the first revision at which a template had the generation of one of its versions.
func (t *timeline) begun(key objectKey, revision int64) int64 {
	about, ok := t.at(key, revision).(running)
	if !ok {
		return revision
	}
	for _, v := range t.versions[key] {
		if one, ok := v.Fact.(running); ok && one.UID == about.UID && one.Generation == about.Generation {
			return v.Revision
		}
	}
	return revision
}

// podCounts are the pods of a workload in a cluster, those without a deletion timestamp.
type podCounts struct {
	// Ready are the ready ones by image.
	Ready map[string]int32
	All   int32
}

type podState struct {
	Revision int64
	// counts by the UID of the workload that the pods belong to: one that was deleted and
	// made again has pods of both until the garbage collector has come.
	counts map[types.UID]podCounts
}

// podHistory is what the pods of a workload in a cluster were, oldest first.
type podHistory struct {
	states []podState
}

// seal prepares the timeline for questions; nothing is added any more.
func (t *timeline) seal() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pods = map[podsKey]*podHistory{}
	type named struct {
		name string
		version
	}
	changes := map[podsKey][]named{}
	owners := map[types.UID]types.UID{}
	for key, all := range t.versions {
		if key.Kind != kindReplicaSet {
			continue
		}
		for _, v := range all {
			if rs, there := v.Fact.(replicaSet); there {
				owners[rs.UID] = rs.Controller
			}
		}
	}
	for key, all := range t.versions {
		if key.Kind != kindPod {
			continue
		}
		app := all[0].Fact.(pod).App
		for _, v := range all {
			changes[podsKey{key.Cluster, app}] = append(changes[podsKey{key.Cluster, app}], named{key.Name, v})
		}
	}
	for key, all := range changes {
		slices.SortFunc(all, func(a, b named) int { return cmp.Compare(a.Revision, b.Revision) })
		history, now := &podHistory{}, map[string]pod{}
		for _, c := range all {
			if c.Fact == nil {
				delete(now, c.name)
			} else {
				now[c.name] = c.Fact.(pod)
			}
			history.states = append(history.states, podState{c.Revision, count(now, owners)})
		}
		t.pods[key] = history
	}
}

// count counts pods by the workload that they belong to. owners are those of ReplicaSets.
func count(pods map[string]pod, owners map[types.UID]types.UID) map[types.UID]podCounts {
	counts := map[types.UID]podCounts{}
	for _, p := range pods {
		if p.Deleting {
			continue
		}
		of, made := owners[p.Controller]
		if !made {
			of = p.Controller
		}
		c, counted := counts[of]
		if !counted {
			c.Ready = map[string]int32{}
		}
		c.All++
		if p.Ready {
			c.Ready[p.Image]++
		}
		counts[of] = c
	}
	return counts
}

// podsAt counts the pods in a cluster at a revision of all workloads of a name, by the workload's UID.
func (t *timeline) podsAt(key podsKey, revision int64) map[types.UID]podCounts {
	history := t.pods[key]
	if history == nil {
		return nil
	}
	n, found := slices.BinarySearchFunc(history.states, revision, func(s podState, r int64) int { return cmp.Compare(s.Revision, r) })
	if !found {
		n--
	}
	if n < 0 {
		return nil
	}
	return history.states[n].counts
}

func (t *timeline) podChanges(key podsKey, after, until int64) []int64 {
	var found []int64
	if history := t.pods[key]; history != nil {
		for _, s := range history.states {
			if s.Revision > after && s.Revision <= until {
				found = append(found, s.Revision)
			}
		}
	}
	return found
}

// excerpt is what happened to some objects in an interval, and how they were when it began.
func (t *timeline) excerpt(keys []objectKey, pods []podsKey, from, until int64) string {
	lines := map[int64]string{}
	for _, key := range keys {
		lines[from] += fmt.Sprintf("  at %d: %s %s in %s: %s\n", from, key.Kind, key.Name, key.Cluster, show(t.at(key, from)))
		for _, v := range t.versions[key] {
			if v.Revision > from && v.Revision <= until {
				lines[v.Revision] += fmt.Sprintf("  %d: %s %s in %s: %s\n", v.Revision, key.Kind, key.Name, key.Cluster, show(v.Fact))
			}
		}
	}
	for _, key := range pods {
		lines[from] += fmt.Sprintf("  at %d: pods of %s in %s: %s\n", from, key.App, key.Cluster, show(t.podsAt(key, from)))
		for _, revision := range t.podChanges(key, from, until) {
			lines[revision] += fmt.Sprintf("  %d: pods of %s in %s: %s\n", revision, key.App, key.Cluster, show(t.podsAt(key, revision)))
		}
	}
	var text string
	for _, revision := range slices.Sorted(maps.Keys(lines)) {
		text += lines[revision]
	}
	return text
}

func show(fact any) string {
	if fact == nil {
		return "none"
	}
	return fmt.Sprintf("%+v", fact)
}
