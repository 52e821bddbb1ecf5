package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// captured is what testdata/capture.sh saved of one workload of a real fleet.
type captured struct {
	facts Facts
	works map[string]*workv1alpha1.Work
}

func load(t *testing.T, name string) captured {
	t.Helper()
	dir := filepath.Join("testdata", name)
	c := captured{
		facts: Facts{Template: &Object{}, Members: map[string]Member{}, Objects: map[string]*Object{}, Overrides: map[string][]AppliedOverride{}, OverridePolicies: []*policyv1alpha1.OverridePolicy{}},
		works: map[string]*workv1alpha1.Work{},
	}
	if !decode(t, filepath.Join(dir, "template.json"), c.facts.Template) {
		t.Fatalf("%s has no template", dir)
	}
	var ok bool
	if c.facts.Kind, ok = c.facts.Template.WorkloadKind(); !ok {
		t.Fatalf("%s is no workload", dir)
	}
	if binding := (&workv1alpha2.ResourceBinding{}); decode(t, filepath.Join(dir, "binding.json"), binding) {
		c.facts.Binding = binding
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		what, cluster, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		switch what {
		case "cluster":
			object := &clusterv1alpha1.Cluster{}
			decode(t, file, object)
			c.facts.Members[cluster] = MemberOf(object)
		case "object":
			object := &Object{}
			decode(t, file, object)
			c.facts.Objects[cluster] = object
		case "work":
			object := &workv1alpha1.Work{}
			decode(t, file, object)
			c.works[cluster] = object
			Record(c.facts.Overrides, object.Namespace, object.Annotations)
		case "override":
			object := &policyv1alpha1.OverridePolicy{}
			decode(t, file, object)
			c.facts.OverridePolicies = append(c.facts.OverridePolicies, object)
		default:
			t.Fatalf("%s is of no known kind", file)
		}
	}
	return c
}

func decode(t *testing.T, file string, into any) bool {
	t.Helper()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return true
}

// text is a placement in one line: cluster, what is special of it,
// desired/ready/available/updated, health.
func text(p PlacementStatus) string {
	n := func(n *int32) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	words := []string{p.Cluster}
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{!p.Scheduled, "leaving"}, {p.Evicting, "evicting"}, {p.Suspended, "suspended"}, {!p.Applied, "unapplied"}, {p.Stale, "stale"},
	} {
		if flag.set {
			words = append(words, flag.name)
		}
	}
	words = append(words, strings.Join([]string{n(p.Desired), n(p.Ready), n(p.Available), n(p.Updated)}, "/"), string(p.Health))
	return strings.Join(words, " ")
}

// TestCaptured runs over the states of real workloads: the nine sample
// applications of the local fleet, and others that were brought about on one.
func TestCaptured(t *testing.T) {
	const (
		down    = "m2: the member cluster is not ready: ClusterNotReachable: cluster is not reachable; the counts are the last known"
		unsent  = "dispatching is suspended by the policy; nothing was sent yet"
		running = "dispatching is suspended by the policy; an earlier version runs"
	)
	tests := []struct {
		name, reason string
		counts       ReplicaCounts
		health       Health
		message      string
		suspended    bool
		placements   []string
		// coarse is the health when the members' objects are not known; empty for the same.
		coarse Health
	}{
		// The nine sample applications.
		{
			name: "frontend", reason: "a Deployment whose replicas are divided 1:3, with an image override on m2",
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
			placements: []string{"m1 1/1/1/1 HEALTHY", "m2 3/3/3/3 HEALTHY"},
		},
		{
			name: "cart", reason: "a StatefulSet of two that is duplicated wants four",
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthHealthy,
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 2/2/2/2 HEALTHY"},
		},
		{
			name: "agent", reason: "a DaemonSet wants what the members count: three nodes each",
			counts: ReplicaCounts{6, 6, 6, 6}, health: HealthHealthy,
			placements: []string{"m1 3/3/3/3 HEALTHY", "m2 3/3/3/3 HEALTHY"},
		},
		{
			name: "report", reason: "a CronJob has no replicas; this one runs at night",
			health: HealthHealthy, message: "m1: has not run yet", placements: []string{"m1 -/-/-/- HEALTHY"},
		},
		{
			name: "migrate", reason: "a Job that completed",
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy, message: "m1: completed",
			placements: []string{"m1 2/2/2/2 HEALTHY"},
		},
		{
			name: "stuck", reason: "its policy selects a label that no cluster has",
			health:  HealthUnscheduled,
			message: "NoClusterFit: 0/2 clusters are available: 2 cluster(s) did not match the placement cluster affinity constraint; no member cluster has the label accelerator=gpu",
		},
		{
			name: "orphan", reason: "no policy selects it: no cluster was asked for a replica",
			health: HealthUnpropagated, message: "no propagation policy selects it",
		},
		{
			name: "api", reason: "a Deployment in one cluster of the other instance",
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy, placements: []string{"m3 2/2/2/2 HEALTHY"},
		},
		{
			name: "ledger", reason: "a StatefulSet in one cluster of the other instance",
			counts: ReplicaCounts{3, 3, 3, 3}, health: HealthHealthy, placements: []string{"m3 3/3/3/3 HEALTHY"},
		},

		// Scheduling and suspension.
		{
			name: "too-large", reason: "scaled beyond what fits: the clusters keep what they had",
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthDegraded,
			message: "the latest change could not be scheduled: Unschedulable: failed to assign replicas: failed to scale up: " +
				"Clusters available replicas 660 are not enough to schedule.",
			placements: []string{"m1 1/1/1/1 HEALTHY", "m2 1/1/1/1 HEALTHY"},
		},
		{
			name: "suspended-new", reason: "dispatching was suspended from the start",
			counts: ReplicaCounts{Desired: 4}, health: HealthUnpropagated, message: "m1, m2: " + unsent, suspended: true,
			placements: []string{"m1 suspended unapplied 2/-/-/- UNPROPAGATED", "m2 suspended unapplied 2/-/-/- UNPROPAGATED"},
		},
		{
			name: "suspended-one", reason: "dispatching was suspended for m2 from the start",
			counts: ReplicaCounts{4, 2, 2, 2}, health: HealthProgressing, message: "m2: " + unsent, suspended: true,
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 suspended unapplied 2/-/-/- UNPROPAGATED"},
		},
		{
			name: "suspended-later", reason: "scaled to three and given a new image while dispatching was suspended",
			counts: ReplicaCounts{3, 2, 2, 2}, health: HealthHealthy, message: "m1: " + running, suspended: true,
			placements: []string{"m1 suspended 3/2/2/2 HEALTHY"},
		},

		// Applying.
		{
			name: "conflict", reason: "m2 has a Deployment of that name which is not Karmada's, and whose replicas are not counted",
			counts: ReplicaCounts{4, 2, 2, 2}, health: HealthDegraded,
			message: "m2: the latest manifest could not be applied: Failed to apply all manifests (0/1): resource(kind=Deployment, " +
				"facts/conflict) already exists in the cluster m2 and the work.karmada.io/conflict-resolution strategy value is empty, " +
				"Karmada will not manage this resource",
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 unapplied 2/-/-/- DEGRADED"},
		},
		{
			name: "quota", reason: "m1's namespace has a quota of one pod",
			counts: ReplicaCounts{4, 3, 3, 3}, health: HealthDegraded,
			message: `m1: replicas can't be created: FailedCreate: pods "quota-555969dbf4-trcgj" is forbidden: exceeded quota: none, ` +
				"requested: pods=1, used: pods=1, limited: pods=1",
			placements: []string{"m1 2/1/1/1 DEGRADED", "m2 2/2/2/2 HEALTHY"},
			coarse:     HealthProgressing,
		},
		{
			name: "override-replicas", reason: "an override policy asks m2 for five instead of two",
			counts: ReplicaCounts{7, 7, 7, 7}, health: HealthHealthy,
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 5/5/5/5 HEALTHY"},
		},
		{
			name: "retained", reason: "replicas are left to the member, which was scaled from two to five",
			counts: ReplicaCounts{5, 5, 5, 5}, health: HealthHealthy, placements: []string{"m1 5/5/5/5 HEALTHY"},
		},

		// Rollouts.
		{
			name: "starting", reason: "pods that no node takes yet",
			counts: ReplicaCounts{2, 0, 0, 2}, health: HealthProgressing, message: "m1, m2: 0 of 1 replicas available",
			placements: []string{"m1 1/0/0/1 PROGRESSING", "m2 1/0/0/1 PROGRESSING"},
		},
		{
			name: "deadline", reason: "the same, after its progress deadline",
			counts: ReplicaCounts{2, 0, 0, 2}, health: HealthDegraded,
			message:    `m1: the rollout failed: ProgressDeadlineExceeded: ReplicaSet "deadline-67897989cf" has timed out progressing.`,
			placements: []string{"m1 2/0/0/2 DEGRADED"}, coarse: HealthProgressing,
		},
		{
			name: "paused", reason: "a Deployment that was paused before it made a pod",
			counts: ReplicaCounts{Desired: 2}, health: HealthProgressing,
			message: "m1: the rollout is paused with 0 of 2 replicas updated", placements: []string{"m1 2/0/0/0 PROGRESSING"},
		},
		{
			name: "sts-starting", reason: "a StatefulSet makes one pod after the other",
			counts: ReplicaCounts{4, 0, 0, 2}, health: HealthProgressing, message: "m1, m2: 1 of 2 replicas updated",
			placements: []string{"m1 2/0/0/1 PROGRESSING", "m2 2/0/0/1 PROGRESSING"},
		},
		{
			name: "ds-nowhere", reason: "a DaemonSet whose selector no node matches is complete",
			health: HealthHealthy, placements: []string{"m1 0/0/0/0 HEALTHY", "m2 0/0/0/0 HEALTHY"},
		},

		// Jobs and CronJobs.
		{
			name: "job-running", reason: "two pods wait for a node",
			counts: ReplicaCounts{4, 0, 0, 2}, health: HealthProgressing, message: "m1: 0 of 4 completions, 2 pods active",
			placements: []string{"m1 4/0/0/2 PROGRESSING"},
		},
		{
			name: "job-failed", reason: "it ran out of time; Karmada calls it Healthy, having no opinion on Jobs",
			counts: ReplicaCounts{Desired: 2}, health: HealthDegraded,
			message:    "m1: the Job failed: DeadlineExceeded: Job was active longer than specified deadline",
			placements: []string{"m1 2/0/0/0 DEGRADED"},
		},
		{
			name: "job-suspended", reason: "a suspended Job does what it was told",
			counts: ReplicaCounts{Desired: 2}, health: HealthHealthy, message: "m1: the Job is suspended",
			placements: []string{"m1 2/0/0/0 HEALTHY"},
		},
		{
			name: "job-divided", reason: "five completions and a parallelism of three, divided 2:1",
			counts: ReplicaCounts{5, 0, 0, 3}, health: HealthProgressing,
			message:    "m1: 0 of 3 completions, 2 pods active; m2: 0 of 2 completions, 1 pods active",
			placements: []string{"m1 3/0/0/2 PROGRESSING", "m2 2/0/0/1 PROGRESSING"},
		},
		{
			name: "cron-ran", reason: "its runs succeed",
			health: HealthHealthy, message: "m1, m2: last run succeeded at 2026-11-21T01:55:01Z",
			placements: []string{"m1 -/-/-/- HEALTHY", "m2 -/-/-/- HEALTHY"},
		},
		{
			name: "cron-failed", reason: "its runs fail; nothing but the missing success says so",
			health: HealthDegraded, message: "m1: the last run, scheduled for 2026-11-21T01:55:00Z, did not succeed",
			placements: []string{"m1 -/-/-/- DEGRADED"},
		},
		{
			name: "cron-running", reason: "its runs wait for a node",
			health: HealthHealthy, message: "m1: 2 runs active", placements: []string{"m1 -/-/-/- HEALTHY"},
		},
		{
			name: "cron-suspended", reason: "a suspended CronJob does what it was told",
			health: HealthHealthy, message: "m1: the CronJob is suspended; has not run yet", placements: []string{"m1 -/-/-/- HEALTHY"},
		},

		// Comings and goings.
		{
			name: "deleting", reason: "another owner's finalizer keeps the template",
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthProgressing,
			message:    "is being deleted since 2026-11-21T01:54:09Z, waiting for the finalizers facts.example.com/hold",
			placements: []string{"m1 2/2/2/2 HEALTHY"},
		},
		{
			name: "member-down", reason: "m2's API server was killed",
			counts: ReplicaCounts{4, 4, 4, 4}, health: HealthDegraded, message: down,
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 stale 2/2/2/2 UNKNOWN"},
		},
		{
			name: "member-down-changed", reason: "scaled to three while m2 was down, of which Karmada reports that all is applied",
			counts: ReplicaCounts{6, 5, 5, 5}, health: HealthDegraded, message: down,
			placements: []string{"m1 3/3/3/3 HEALTHY", "m2 stale 3/2/2/2 UNKNOWN"},
		},
		{
			name: "evicted", reason: "Karmada moves it away from m2, gracefully",
			counts: ReplicaCounts{2, 2, 2, 2}, health: HealthHealthy,
			placements: []string{"m1 2/2/2/2 HEALTHY", "m2 leaving evicting 0/2/2/2 PROGRESSING"},
		},
		{
			name: "left-behind", reason: "its policy was changed to m1 only while m2 was down, so its Work there can't go",
			counts: ReplicaCounts{2, 0, 0, 1}, health: HealthProgressing, message: "m1: 1 of 2 replicas updated",
			placements: []string{"m1 2/0/0/1 PROGRESSING", "m2 leaving stale 0/0/0/1 UNKNOWN"},
		},
	}
	tested := map[string]bool{"capture.sh": true, "README.md": true}
	for _, tt := range tests {
		tested[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Log(tt.reason)
			in := load(t, tt.name).facts
			got := Evaluate(in)
			if got.Health != tt.health || got.Message != tt.message || got.Suspended != tt.suspended {
				t.Errorf("it is\n  %s %q, suspended %v; want\n  %s %q, suspended %v",
					got.Health, got.Message, got.Suspended, tt.health, tt.message, tt.suspended)
			}
			if diff := cmp.Diff(tt.counts, got.Replicas); diff != "" {
				t.Errorf("replicas (-want +got):\n%s", diff)
			}
			var placements []string
			for _, p := range got.Placements {
				placements = append(placements, text(p))
			}
			if diff := cmp.Diff(tt.placements, placements); diff != "" {
				t.Errorf("placements (-want +got):\n%s", diff)
			}

			coarse := tt.coarse
			if coarse == "" {
				coarse = tt.health
			}
			in.Objects = nil
			if health, message := healthOf(in); health != coarse {
				t.Errorf("without the members' objects it is %s %q, want %s", health, message, coarse)
			}
		})
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !tested[entry.Name()] {
			t.Errorf("testdata/%s is not tested", entry.Name())
		}
	}
}

// TestCapturedNames: what we compute is what Karmada called its objects.
func TestCapturedNames(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	bindings, works := 0, 0
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		c := load(t, entry.Name())
		template := c.facts.Template
		if b := c.facts.Binding; b != nil {
			bindings++
			if got := c.facts.Kind.BindingName(template.Name); got != b.Name || template.Namespace != b.Namespace {
				t.Errorf("%s: the binding is %s/%s, and we call it %s", entry.Name(), b.Namespace, b.Name, got)
			}
			for _, cluster := range slices.Sorted(maps.Keys(c.works)) {
				if !slices.Contains(clustersOf(b), cluster) {
					t.Errorf("%s: it has a Work for %s, which is not among %v", entry.Name(), cluster, clustersOf(b))
				}
			}
		}
		for cluster, work := range c.works {
			works++
			if got := c.facts.Kind.WorkName(template.Namespace, template.Name); got != work.Name || ExecutionNamespace(cluster) != work.Namespace {
				t.Errorf("%s: the Work is %s/%s, and we call it %s/%s", entry.Name(), work.Namespace, work.Name, ExecutionNamespace(cluster), got)
			}
		}
	}
	if bindings < 30 || works < 40 {
		t.Errorf("only %d bindings and %d Works were compared", bindings, works)
	}
}

// TestCapturedPolicies checks which policies claimed the workloads, and which overrides were
// applied.
func TestCapturedPolicies(t *testing.T) {
	tests := []struct {
		name, policy string
		overrides    map[string][]string
	}{
		{"frontend", "PropagationPolicy shop/frontend", map[string][]string{"m1": nil, "m2": {"frontend-image"}}},
		{"agent", "ClusterPropagationPolicy node-agents", map[string][]string{"m1": nil, "m2": nil}},
		{"orphan", "", map[string][]string{}},
		{"stuck", "PropagationPolicy shop/stuck", map[string][]string{}},
		{
			"override-replicas", "PropagationPolicy facts/override-replicas",
			map[string][]string{"m1": nil, "m2": {"facts-mirror (cluster)", "override-replicas"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.name)
			got := ""
			if ref := PolicyRefOf(c.facts.Template); ref != nil {
				got = ref.String()
				if ref.PermanentID == "" {
					t.Error("Karmada labels what it claims, and the label was not read")
				}
			}
			if got != tt.policy {
				t.Errorf("claimed by %q, want %q", got, tt.policy)
			}
			overrides := map[string][]string{}
			for cluster, work := range c.works {
				applied, err := appliedOverrides(work.Annotations)
				if err != nil {
					t.Error(err)
				}
				overrides[cluster] = nil
				for _, a := range applied {
					name := a.PolicyName
					if a.ClusterScoped {
						name += " (cluster)"
					}
					overrides[cluster] = append(overrides[cluster], name)
				}
			}
			if diff := cmp.Diff(tt.overrides, overrides); diff != "" {
				t.Errorf("overrides (-want +got):\n%s", diff)
			}
		})
	}

	frontend := load(t, "frontend").facts
	images := map[string][]string{"": frontend.Template.Images()}
	for cluster, object := range frontend.Objects {
		images[cluster] = object.Images()
	}
	want := map[string][]string{
		"":   {"registry.example.com/shop/frontend:1.7.2"},
		"m1": {"registry.example.com/shop/frontend:1.7.2"},
		"m2": {"registry.example.com/shop/frontend:1.8.0-canary"},
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Errorf("images of the template and in the members (-want +got):\n%s", diff)
	}
}
