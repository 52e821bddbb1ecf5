package whatif

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

const (
	anyOf  = `resourceSelectors: [{}]`
	named  = `{resourceSelectors: [{name: web}], preemption: Always, priority: %d}`
	inShop = `{resourceSelectors: [{name: web, namespace: shop}], preemption: Always, priority: %d}`
)

// TestClaims checks which policy claims a Deployment named web after a change, one case for each rule.
func TestClaims(t *testing.T) {
	p := func(name, spec string) *Policy { return policy(t, "shop", name, spec) }
	cpp := func(name, spec string) *Policy { return policy(t, "", name, spec) }
	preempting := Settings{PolicyPreemption: true}
	for _, tt := range []struct {
		reason   string
		others   []*Policy
		claimed  *Policy
		change   Change
		settings Settings
		edit     func(t *unstructured.Unstructured)
		// effect and the policy afterwards; empty when the change does not concern it.
		want string
	}{
		{reason: "a new policy claims what no policy has claimed", change: Change{After: p("new", anyOf)}, want: "CLAIMED shop/new"},
		{reason: "it claims nothing that it does not select", change: Change{After: p("new", `resourceSelectors: [{name: other}]`)}},
		{
			reason: "it claims nothing that another policy has, however high its priority", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: p("new", `{resourceSelectors: [{}], priority: 9}`)},
		},
		{
			reason: "preemption is off by default", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: p("new", fmt.Sprintf(named, 9))},
		},
		{
			reason: "with the gate, it takes what it names", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: p("new", fmt.Sprintf(named, 9))}, settings: preempting, want: "TAKEN_OVER shop/new",
		},
		{
			reason: "an equal priority is too low", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: p("new", fmt.Sprintf(named, 0))}, settings: preempting,
		},
		{
			reason: "a selector without name takes nothing", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: p("new", `{resourceSelectors: [{labelSelector: {matchLabels: {app: web}}}], preemption: Always, priority: 9}`)}, settings: preempting,
		},
		{
			reason: "it takes from a ClusterPropagationPolicy whatever the priorities", others: []*Policy{cpp("wide", `{resourceSelectors: [{}], priority: 50}`)}, claimed: cpp("wide", anyOf),
			change: Change{After: p("new", fmt.Sprintf(named, 0))}, settings: preempting, want: "TAKEN_OVER shop/new",
		},
		{
			reason: "a ClusterPropagationPolicy takes nothing from a PropagationPolicy", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{After: cpp("wide", fmt.Sprintf(inShop, 9))}, settings: preempting,
		},
		{
			reason: "it takes from another one, by priority", others: []*Policy{cpp("old", anyOf)}, claimed: cpp("old", anyOf),
			change: Change{After: cpp("wide", fmt.Sprintf(inShop, 9))}, settings: preempting, want: "TAKEN_OVER wide",
		},
		{
			reason: "after a deletion another policy claims it", others: []*Policy{p("old", anyOf), cpp("wide", anyOf)}, claimed: p("old", anyOf),
			change: Change{Before: p("old", anyOf)}, want: "HANDED_OVER wide",
		},
		{reason: "or none", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf), change: Change{Before: p("old", anyOf)}, want: "LOST -"},
		{
			reason: "what a policy selects no longer, another one claims", others: []*Policy{p("old", anyOf), p("next", anyOf)}, claimed: p("old", anyOf),
			change: Change{Before: p("old", anyOf), After: p("old", `resourceSelectors: [{name: other}]`)}, want: "HANDED_OVER shop/next",
		},
		{
			reason: "what it goes on to select stays", others: []*Policy{p("old", anyOf)}, claimed: p("old", anyOf),
			change: Change{Before: p("old", anyOf), After: p("old", `resourceSelectors: [{name: web}]`)}, want: "UNCHANGED shop/old",
		},
		{
			reason: "a lower priority lets those between take over", settings: preempting, claimed: p("old", `{resourceSelectors: [{}], priority: 9}`),
			others: []*Policy{p("old", `{resourceSelectors: [{}], priority: 9}`), p("mid", fmt.Sprintf(named, 5)), p("low", fmt.Sprintf(named, 3))},
			change: Change{Before: p("old", `{resourceSelectors: [{}], priority: 9}`), After: p("old", `{resourceSelectors: [{}], priority: 2}`)}, want: "HANDED_OVER shop/mid",
		},
		{
			reason: "a policy that waits for override policies claims nothing", change: Change{After: p("new", `{resourceSelectors: [{}], dependentOverrides: [missing]}`)}, want: "UNCHANGED -",
		},
		{
			reason: "it does when they exist", change: Change{After: p("new", `{resourceSelectors: [{}], dependentOverrides: [there]}`)}, want: "CLAIMED shop/new",
		},
		{
			reason: "what is being deleted is left alone", change: Change{After: p("new", anyOf)},
			edit: func(t *unstructured.Unstructured) { now := metav1.Unix(1, 0); t.SetDeletionTimestamp(&now) },
		},
		{
			reason: "so is what is in a namespace that Karmada skips", change: Change{After: cpp("new", anyOf)},
			edit: func(t *unstructured.Unstructured) { t.SetNamespace("kube-system") },
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			of := deployment("web", 2, tt.claimed)
			if tt.edit != nil {
				tt.edit(of)
			}
			w := &World{
				Clusters: []*clusterv1alpha1.Cluster{cluster("m1", 10), cluster("m2", 10)}, Policies: tt.others, Templates: []*unstructured.Unstructured{of},
				Overrides: []client.Object{&policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "there"}}}, Settings: tt.settings,
			}
			if tt.claimed != nil {
				w.Bindings = []*workv1alpha2.ResourceBinding{binding(t, of, tt.claimed, map[string]int32{"m1": 2, "m2": 2})}
			}
			r, err := PolicyChange(w, tt.change)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(r.Items) > 0 {
				after := "-"
				if ref := r.Items[0].PolicyAfter; ref != nil {
					after = strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/")
				}
				got = string(r.Items[0].Effect) + " " + after
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPolicyChange checks the clusters before and after.
func TestPolicyChange(t *testing.T) {
	divided := `{resourceSelectors: [{}], placement: {clusterAffinity: {clusterNames: [%s]}, replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}}%s}`
	old := policy(t, "shop", "p", fmt.Sprintf(divided, "m1, m2", ""))
	for _, tt := range []struct {
		reason         string
		before, after  *Policy
		clusters       map[string]int32
		want           []Placement
		removed        int
		unplaced, note bool
	}{
		{"the first time", nil, old, nil, []Placement{{"m1", 2}, {"m2", 2}}, 0, false, false},
		{"to other clusters", old, policy(t, "shop", "p", fmt.Sprintf(divided, "m2, m3", "")), map[string]int32{"m1": 2, "m2": 2}, []Placement{{"m2", 2}, {"m3", 2}}, 1, false, false},
		{"to none", old, policy(t, "shop", "p", fmt.Sprintf(divided, "m9", "")), map[string]int32{"m1": 2, "m2": 2}, nil, 2, true, true},
		{"nothing that matters to the scheduler", old, policy(t, "shop", "p", fmt.Sprintf(divided, "m1, m2", ", priority: 3")), map[string]int32{"m1": 3, "m2": 1}, []Placement{{"m1", 3}, {"m2", 1}}, 0, false, false},
		{"no change of the binding, so that a new cluster is not looked at", policy(t, "shop", "p", anyOf), policy(t, "shop", "p", `{resourceSelectors: [{}], priority: 3}`), map[string]int32{"m1": 4, "m2": 4}, []Placement{{"m1", 4}, {"m2", 4}}, 0, false, false},
		{"a change of the binding, so that it is", policy(t, "shop", "p", anyOf), policy(t, "shop", "p", `{resourceSelectors: [{}], conflictResolution: Overwrite}`), map[string]int32{"m1": 4, "m2": 4}, []Placement{{"m1", 4}, {"m2", 4}, {"m3", 4}}, 0, false, false},
		{"lazily", old, policy(t, "shop", "p", fmt.Sprintf(divided, "m3", ", activationPreference: Lazy")), map[string]int32{"m1": 2, "m2": 2}, []Placement{{"m1", 2}, {"m2", 2}}, 0, false, true},
		{"deleted: it stays where it is", old, nil, map[string]int32{"m1": 2, "m2": 2}, []Placement{{"m1", 2}, {"m2", 2}}, 0, false, true},
		{"suspended", old, policy(t, "shop", "p", fmt.Sprintf(divided, "m1, m2", ", schedulerName: mine")), map[string]int32{"m1": 2, "m2": 2}, []Placement{{"m1", 2}, {"m2", 2}}, 0, false, true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			of := deployment("web", 4, tt.before)
			w := &World{Clusters: []*clusterv1alpha1.Cluster{cluster("m1", 10), cluster("m2", 10), cluster("m3", 10)}, Templates: []*unstructured.Unstructured{of}}
			if tt.before != nil {
				w.Policies = []*Policy{tt.before}
				w.Bindings = []*workv1alpha2.ResourceBinding{binding(t, of, tt.before, tt.clusters)}
			}
			r, err := PolicyChange(w, Change{Before: tt.before, After: tt.after})
			if err != nil || len(r.Items) != 1 {
				t.Fatalf("%v, %+v", err, r)
			}
			i := r.Items[0]
			if fmt.Sprint(i.After) != fmt.Sprint(append([]Placement{}, tt.want...)) || i.Unplaced != tt.unplaced || (i.Message != "") != tt.note {
				t.Errorf("got %+v, want %v", i, tt.want)
			}
			if c := r.Counts(); c.Removed != tt.removed {
				t.Errorf("%d are removed, want %d", c.Removed, tt.removed)
			}
			again, err := PolicyChange(w, Change{Before: tt.before, After: tt.after})
			if err != nil || again.Fingerprint != r.Fingerprint {
				t.Errorf("the fingerprint of the same change differs: %v", err)
			}
			w.Clusters = w.Clusters[:2]
			less, err := PolicyChange(w, Change{Before: tt.before, After: tt.after})
			if err != nil || (less.Fingerprint == r.Fingerprint) != equal(less.Items[0].After, i.After) {
				t.Errorf("the fingerprint does not follow the clusters: %v", err)
			}
		})
	}
}
