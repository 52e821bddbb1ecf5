package truth

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

// The answers of Kairship, as the queries of observe_test.go select them.
type (
	workloadAnswer struct {
		Instance struct {
			Name string `json:"name"`
		} `json:"instance"`
		Kind            string `json:"kind"`
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		Health          string `json:"health"`
		Replicas        struct {
			Desired int32 `json:"desired"`
			Ready   int32 `json:"ready"`
		} `json:"replicas"`
		Freshness  freshness         `json:"freshness"`
		Placements []placementAnswer `json:"placements"`
	}
	placementAnswer struct {
		ClusterName string        `json:"clusterName"`
		Scheduled   bool          `json:"scheduled"`
		Desired     *int32        `json:"desired"`
		Ready       *int32        `json:"ready"`
		Object      *objectAnswer `json:"object"`
	}
	objectAnswer struct {
		ResourceVersion string    `json:"resourceVersion"`
		Freshness       freshness `json:"freshness"`
	}
)

// kinds are the names of kinds in the schema.
var kinds = map[string]string{"DEPLOYMENT": kindDeployment, "STATEFUL_SET": kindStatefulSet, "DAEMON_SET": kindDaemonSet}

func (w *workloadAnswer) key() workloadKey {
	return workloadKey{w.Instance.Name, kinds[w.Kind], w.Name}
}

func (w *workloadAnswer) version() int64 { return revision(w.ResourceVersion) }

func revision(version string) int64 {
	n, _ := strconv.ParseInt(version, 10, 64)
	return n
}

func (w *workloadAnswer) counts() *counts {
	c := &counts{Desired: w.Replicas.Desired, Ready: w.Replicas.Ready, Placements: map[string]placed{}}
	for _, p := range w.Placements {
		if !p.Scheduled {
			continue
		}
		c.Placements[p.ClusterName] = placed{Desired: deref(p.Desired, -1), Ready: deref(p.Ready, -1)}
	}
	return c
}

// made is a claim as it was made: its interval is one of time, until the clock translates it.
type made struct {
	claim
	// Since is when the interval begins; zero when claim.After says it.
	Since, Received time.Time
	// SinceGeneration reports that it begins with the generation of claim.Version.
	SinceGeneration bool
	// IsEvent reports that a subscription made it.
	IsEvent bool
}

// overridesWithin is for how long an event may take a cluster for well that does not have a change of an
// override policy yet (docs/subscriptions.md).
const overridesWithin = 2 * time.Second

// history collects claims.
type history struct {
	mu     sync.Mutex
	claims []made
	fresh  []fresh
	shown  []shown
	// last is the last answer about each workload, by the query that it answers.
	last map[string]map[workloadKey]*workloadAnswer
	// health counts answers.
	health map[string]int
	errors map[string]int
}

func newHistory() *history {
	return &history{last: map[string]map[workloadKey]*workloadAnswer{}, health: map[string]int{}, errors: map[string]int{}}
}

// interval is when an answer was asked for and received.
type interval struct{ sent, received time.Time }

// age records what an answer says about its age.
func (j *history) age(by string, at interval, of freshness, clusters ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fresh = append(j.fresh, fresh{By: by, Clusters: clusters, Sent: at.sent, Received: at.received, freshness: of})
}

// show records which version of an object an answer shows.
func (j *history) show(by string, at interval, key objectKey, version int64, of freshness) {
	if of.ObservedAt == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.shown = append(j.shown, shown{By: by + " at " + stamp(&at.received), Object: key, Version: version, ObservedAt: *of.ObservedAt})
}

// answer records what an answer says about a workload. The interval of its claim begins
// with the answer's own observedAt, but not before the write that a consistency token
// names. An answer that says null for it was true at some moment since the template got
// the generation that it shows.
func (j *history) answer(by string, at interval, w *workloadAnswer, written int64) {
	key := w.key()
	j.age(by+": freshness of workloads of "+key.Instance, at, w.Freshness, key.Instance)
	j.show(by, at, objectKey{key.Instance, key.Kind, key.Name}, w.version(), w.Freshness)
	for _, p := range w.Placements {
		if p.Object != nil {
			j.age(by+": freshness of objects in "+p.ClusterName, at, p.Object.Freshness, p.ClusterName)
			j.show(by, at, objectKey{p.ClusterName, key.Kind, key.Name}, revision(p.Object.ResourceVersion), p.Object.Freshness)
		}
	}
	m := made{claim: claim{By: by + " at " + stamp(&at.received), After: written}, Received: at.received}
	if m.SinceGeneration = w.Freshness.ObservedAt == nil; !m.SinceGeneration {
		m.Since = *w.Freshness.ObservedAt
	}
	j.add(by, w, m)
}

// event records what an event of a subscription says about a workload. The interval of
// its claim begins when the template got the generation that the event shows: later
// versions differ in what Karmada notes, and not in what is asked for. Its state is computed from what the
// instance has, which does not show whether a cluster has the latest change of an override policy already.
func (j *history) event(by string, received time.Time, w *workloadAnswer) {
	j.add(by, w, made{claim: claim{By: by + " at " + stamp(&received)}, SinceGeneration: true, IsEvent: true, Received: received})
}

func (j *history) add(by string, w *workloadAnswer, m made) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last[by] == nil {
		j.last[by] = map[workloadKey]*workloadAnswer{}
	}
	j.last[by][w.key()] = w
	j.health[by+" "+w.Health]++
	m.What, m.Workload, m.Version = w.Health, w.key(), w.version()
	switch w.Health {
	case healthy:
		m.Counts = w.counts()
		j.claims = append(j.claims, m)
	case unmanaged:
		j.claims = append(j.claims, m)
	}
}

// success records that an operation succeeded, which wrote a version of a template, and
// everything until a revision.
func (j *history) success(by string, received time.Time, w workloadKey, version, written int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.claims = append(j.claims, made{
		claim:    claim{By: by + " at " + stamp(&received), What: succeeded, Workload: w, Version: version, After: written},
		Received: received,
	})
}

// failed counts answers that are errors, and operations that failed.
func (j *history) failed(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.errors[what]++
}

// gone forgets the last answer about a workload.
func (j *history) gone(by string, w workloadKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.last[by], w)
}

// timed are the claims with their intervals in revisions.
func (j *history) timed(c *clock, t *timeline) []claim {
	var all []claim
	for _, m := range j.claims {
		if !m.Since.IsZero() {
			m.After = max(m.After, c.from(m.Since))
		}
		if m.SinceGeneration {
			m.After = max(m.After, t.begun(objectKey{m.Workload.Instance, m.Workload.Kind, m.Workload.Name}, m.Version))
		}
		m.Until = c.until(m.Received)
		if m.IsEvent {
			m.OverridesSince = c.from(m.Received.Add(-overridesWithin))
		}
		all = append(all, m.claim)
	}
	return all
}

// tally counts claims by what they say.
func tally(claims []claim) map[string]int {
	counts := map[string]int{}
	for _, c := range claims {
		counts[c.What]++
	}
	return counts
}

// isHealthy is nil when the last answer to a query calls a workload HEALTHY.
func (j *history) isHealthy(by string, key workloadKey) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.last[by][key]
	if w == nil {
		return fmt.Errorf("%s has nothing about it", by)
	}
	if w.Health != healthy {
		return fmt.Errorf("%s says %s: %+v", by, w.Health, w)
	}
	return nil
}
