package resolvers

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

// capturedRows are the objects of a workload of a real fleet as rows of an index.
func capturedRows(t *testing.T, name string) map[string]indextest.Row {
	t.Helper()
	files, err := filepath.Glob("../../pkg/fleet/workload/testdata/" + name + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]index.Type{"template": index.Deployments, "object": index.Deployments, "binding": index.ResourceBindings, "cluster": index.MemberClusters, "work": index.Works}
	rows := map[string]indextest.Row{}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		what, cluster, _ := strings.Cut(base, "-")
		var o struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Body     map[string]any    `json:"-"`
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &o)
		}
		if err == nil {
			err = json.Unmarshal(text, &o.Body)
		}
		if err != nil {
			t.Fatal(err)
		}
		of, in := types[what], "k-alpha"
		switch {
		case what == "override" && o.Metadata.Namespace == "":
			of = index.ClusterOverridePolicies
		case what == "override":
			of = index.OverridePolicies
		case what == "object":
			in = cluster
		}
		r := fleettest.Row(of, in, o.Metadata.Namespace, o.Metadata.Name)
		r.UID, r.ResourceVersion, r.Labels, r.Annotations = string(o.Metadata.UID), o.Metadata.ResourceVersion, o.Metadata.Labels, o.Metadata.Annotations
		r.Body = map[string]any{"spec": o.Body["spec"], "status": o.Body["status"]}
		rows[base] = r
	}
	// The policy that claims it was not captured; the binding has its placement.
	claim := rows["template"].Annotations
	spec, _ := rows["binding"].Body["spec"].(map[string]any)
	policy := fleettest.Row(index.PropagationPolicies, "k-alpha", claim["propagationpolicy.karmada.io/namespace"], claim["propagationpolicy.karmada.io/name"])
	policy.Body = map[string]any{"spec": map[string]any{"placement": spec["placement"]}}
	rows["policy"] = policy
	return rows
}

// rolesIn are the rules of users with a role in namespaces of alpha.
type rolesIn map[string]string

func (n rolesIn) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	rule := func(resource string, names ...string) authorizationv1.ResourceRule {
		return authorizationv1.ResourceRule{APIGroups: []string{"kairship.io"}, Verbs: []string{"get", "list"}, Resources: []string{resource}, ResourceNames: names}
	}
	if n[u.Name] == "*" {
		return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule("instances", "alpha"), rule("instances/resources", "alpha")}}, nil
	}
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{rule("instances", "alpha"), rule("instances/namespaces", "alpha:"+n[u.Name])}}, nil
}

// workloadsOf makes the service of workloads over an index of alpha and its members, and the context of
// an operation of a person with these roles.
func workloadsOf(t *testing.T, people rolesIn, person string, rows ...indextest.Row) (*workload.Service, context.Context) {
	t.Helper()
	client := fleettest.Client(t, indextest.New(t, rows...))
	clock := func() time.Time { return now }
	joined := func(name string) *v1alpha1.Cluster {
		return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypePhysical, InstanceRef: &v1alpha1.InstanceReference{Name: "alpha"}}}
	}
	inventory := fleettest.Inventory(t, fleettest.Instance("alpha"), joined("m1"), joined("m2"))
	tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	permissions := authz.NewResolver(people, nil, clock, nil)
	read := loaders.NewReader(client)
	lister := &listing.Lister{Reader: access.NewReader(read, permissions, access.NewInventory(inventory)), Freshness: tracker, Now: clock}
	service := workload.NewService(lister, read, instance.NewService(inventory, tracker), cluster.NewService(inventory, tracker), membercluster.NewCache(client, clock))
	return service, loaders.With(authz.WithUser(t.Context(), authz.User{Name: person}), client)
}

// TestStateWithoutProjection checks that a state computed from the index takes override policies
// into account, is the same for all users who see the workload, and names no policy that they may
// not read.
func TestStateWithoutProjection(t *testing.T) {
	people := rolesIn{"admin": "*", "facts": "facts"}
	rows := capturedRows(t, "override-replicas")
	without := func(all map[string]indextest.Row, names ...string) []indextest.Row {
		var kept []indextest.Row
		for name, r := range all {
			if !slices.Contains(names, name) {
				kept = append(kept, r)
			}
		}
		return kept
	}
	state := func(t *testing.T, person string, rows ...indextest.Row) (health, message string) {
		t.Helper()
		service, ctx := workloadsOf(t, people, person, rows...)
		c, err := service.ListInstance(ctx, "alpha", workload.ListArgs{}, workload.Needs{Status: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.Nodes {
			status, err := service.Status(ctx, w.Base())
			if err != nil {
				t.Fatal(err)
			}
			if w.Base().Name() == "override-replicas" {
				health, message = string(status.Health), status.Message
			}
		}
		return health, message
	}
	const pending = " has not been applied yet; if it cannot be, the workload's events say so"
	changed := rows["override-facts-mirror"]
	changed.Body = map[string]any{"spec": map[string]any{"overrideRules": []any{
		map[string]any{"targetCluster": map[string]any{"clusterNames": []string{"m2"}}, "overriders": map[string]any{}},
	}}}
	unrecorded := rows["work-m2"]
	unrecorded.Annotations = maps.Clone(unrecorded.Annotations)
	maps.DeleteFunc(unrecorded.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, "policy.karmada.io/") })
	for person := range people {
		for _, tt := range []struct {
			reason          string
			rows            []indextest.Row
			health, message string
		}{
			{"as it was captured", without(rows), "HEALTHY", ""},
			{"a policy is not applied", append(without(rows, "work-m2"), unrecorded), "PROGRESSING", "m2: a cluster override policy" + pending + `; override policy "override-replicas"` + pending},
			{"a policy for the instance was changed", append(without(rows, "override-facts-mirror"), changed), "PROGRESSING", "m2: a change of a cluster override policy" + pending},
		} {
			if health, message := state(t, person, tt.rows...); health != tt.health || message != tt.message {
				t.Errorf("%s: %s: it is %s %q, want %s %q", person, tt.reason, health, message, tt.health, tt.message)
			}
		}
	}
}
