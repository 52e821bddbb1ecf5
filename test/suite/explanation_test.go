package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// explained is a workload with its explanation.
type explained struct {
	Name, Health  string
	HealthMessage *string
	Explanation   struct {
		Stage, State, Summary string
		Steps                 []struct {
			Stage, State, Summary string
			Reasons               []explanationReason
		}
	}
}

type explanationReason struct {
	Code, Message string
	ClusterName   *string
	Policy        *struct{ Name string }
	Override      *struct{ Name string }
	Pod           *struct{ Name string }
}

// text is a reason with what it is about.
func (r *explanationReason) text() string {
	text := r.Code
	if r.ClusterName != nil {
		text += " " + *r.ClusterName
	}
	for _, of := range []*struct{ Name string }{r.Policy, r.Override} {
		if of != nil {
			text += " " + of.Name
		}
	}
	return text
}

const explanations = `query($ns: [String!]) { workloads(first: 50, filter: {namespaces: $ns}) { nodes { name health healthMessage explanation {
	stage state summary steps { stage state summary reasons { code message clusterName policy { name } override { name } pod { name } } } } } } }`

// stalled are workloads whose propagation stops somewhere, with the stage, the state and some of the
// reasons that say why.
var stalled = map[string]struct {
	stage, state string
	reasons      []string
}{
	"orphan":     {"POLICY", "FAILED", []string{"POLICY_NONE", "POLICY_KIND_DIFFERS near-kind", "POLICY_LABELS_DIFFER near-labels"}},
	"nowhere":    {"SCHEDULING", "FAILED", []string{"POLICY_CLAIMED nowhere", "NO_CLUSTER_FITS", "CLUSTER_AFFINITY m1", "CLUSTER_AFFINITY m2"}},
	"tainted":    {"SCHEDULING", "FAILED", []string{"NO_CLUSTER_FITS", "CLUSTER_AFFINITY m1", "CLUSTER_TAINT m2"}},
	"suspended":  {"DISPATCH", "WAITING", []string{"DISPATCH_SUSPENDED m1", "CLUSTER_AFFINITY m2"}},
	"conflict":   {"APPLY", "FAILED", []string{"APPLY_CONFLICT m1"}},
	"homeless":   {"APPLY", "FAILED", []string{"APPLY_NAMESPACE_MISSING m1"}},
	"demanding":  {"RUN", "WAITING", []string{"ROLLOUT_PROGRESSING m1", "POD_UNSCHEDULABLE m1"}},
	"overridden": {"RUN", "PASSED", []string{"POLICY_CLAIMED overridden", "POLICY_OUTRANKED outranked", "OVERRIDE_APPLIED m1 overridden", "OVERRIDE_OTHER_CLUSTER m1 elsewhere"}},
}

// TestExplanations brings workloads to a stop in each stage, and compares their explanations with
// what was done to them.
func TestExplanations(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns, homeless := "suite-"+w.id+"-why", "suite-"+w.id+"-homeless"
	w.stall(t, ns, homeless)

	var last []explained
	poll.Until(t, propagationTimeout, "every workload stops where it should", func(ctx context.Context) error {
		data, _, err := gql.Query[struct{ Workloads struct{ Nodes []explained } }](ctx, on.kairship, explanations, map[string]any{"ns": []string{ns, homeless}})
		if err != nil {
			return err
		}
		if last = data.Workloads.Nodes; len(last) != len(stalled) {
			return fmt.Errorf("there are %d workloads", len(last))
		}
		for i := range last {
			if err := stops(&last[i]); err != nil {
				return fmt.Errorf("%s: %w", last[i].Name, err)
			}
		}
		return nil
	})
	for _, one := range last {
		if one.HealthMessage != nil && one.Explanation.Summary != *one.HealthMessage {
			t.Errorf("%s: its health says %q, and its explanation %q", one.Name, *one.HealthMessage, one.Explanation.Summary)
		}
		if owner := "belongs to the Helm release " + ns + "/shop"; one.Name == "conflict" && !strings.Contains(fmt.Sprint(one.Explanation.Steps), owner) {
			t.Errorf("no reason has that what is in the way %s: %+v", owner, one.Explanation.Steps)
		}
		if len(one.Explanation.Steps) != 6 {
			t.Errorf("%s has %d steps", one.Name, len(one.Explanation.Steps))
		}
	}
	for person, sees := range map[string]int{"alice": len(stalled), "bob": 0, "mallory": 0} {
		r := on.as(t, person).Must(t, gql.Request{Query: explanations, Variables: map[string]any{"ns": []string{ns, homeless}}})
		if n := strings.Count(string(r.Data), `"explanation"`); n != sees || len(r.Errors) > 0 {
			t.Errorf("%s sees %d explanations, want %d: %v", person, n, sees, r.Errors)
		}
		if sees == 0 && string(r.Data) != `{"workloads":{"nodes":[]}}` {
			t.Errorf("%s: %s", person, r.Data)
		}
	}
}

// stops reports where a workload does not stop as it should.
func stops(one *explained) error {
	want := stalled[one.Name]
	e := &one.Explanation
	if e.Stage != want.stage || e.State != want.state {
		return fmt.Errorf("it stands at %s %s: %s", e.Stage, e.State, e.Summary)
	}
	var found []string
	for i := range e.Steps {
		for j := range e.Steps[i].Reasons {
			found = append(found, e.Steps[i].Reasons[j].text())
		}
	}
	for _, reason := range want.reasons {
		if !slices.Contains(found, reason) {
			return fmt.Errorf("no reason is %s: %v", reason, found)
		}
	}
	return nil
}

// stall makes the workloads, and what stops them.
func (w *world) stall(t testing.TB, ns, homeless string) {
	t.Helper()
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}},
		// The members never get this one.
		created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", homeless, policyv1alpha1.NamespaceSkipAutoPropagationLabel, "true")}})
	m1 := w.fleet.Client(t, "m1")
	poll.Until(t, propagationTimeout, "m1 has the namespace", func(ctx context.Context) error {
		return m1.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
	})
	w.taint(t, "m2")
	policyTo := func(name string, clusters ...string) *policyv1alpha1.PropagationPolicy {
		return propagation(w.meta(ns, name), selects("Deployment", ns, name), to(clusters...))
	}
	suspended := policyTo("suspended", "m1")
	suspended.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	tainted := policyTo("tainted", "m2")
	nearLabels := selects("Deployment", ns, "")
	nearLabels[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	outranked := selects("Deployment", ns, "")
	outranked[0].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"mix": "overridden"}}
	override := func(name string, clusters ...string) *policyv1alpha1.OverridePolicy {
		return &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(ns, name), Spec: tagging(selects("Deployment", ns, "overridden"), clusters...)}
	}
	inTheWay := deployment(w.meta(ns, "conflict"))
	inTheWay.Annotations = map[string]string{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": ns}
	w.create(t,
		created{"m1", inTheWay},
		created{"alpha", propagation(w.meta(ns, "near-kind"), selects("StatefulSet", ns, "orphan"), to("m1"))},
		created{"alpha", propagation(w.meta(ns, "near-labels"), nearLabels, to("m1"))},
		created{"alpha", policyTo("nowhere", "none-such")}, created{"alpha", tainted}, created{"alpha", suspended},
		created{"alpha", policyTo("conflict", "m1")}, created{"alpha", policyTo("demanding", "m1")}, created{"alpha", policyTo("overridden", "m1")},
		created{"alpha", propagation(w.meta(homeless, "homeless"), selects("Deployment", homeless, "homeless"), to("m1"))},
		created{"alpha", override("overridden", "m1")}, created{"alpha", override("elsewhere", "m2")},
		created{"alpha", propagation(w.meta(ns, "outranked"), outranked, to("m1"))},
	)
	var all []created
	for name := range stalled {
		in := ns
		if name == "homeless" {
			in = homeless
		}
		d := deployment(w.meta(in, name, "mix", name))
		if name == "demanding" {
			d = demanding("100k", d)
		}
		all = append(all, created{"alpha", d})
	}
	w.create(t, all...)
}

// taint keeps new workloads from a member cluster of alpha until the test ends.
func (w *world) taint(t testing.TB, cluster string) {
	t.Helper()
	c := w.fleet.Client(t, "alpha")
	taint := corev1.Taint{Key: "suite-" + w.id, Effect: corev1.TaintEffectNoSchedule}
	change := func(ctx context.Context, of func([]corev1.Taint) []corev1.Taint) error {
		now := &clusterv1alpha1.Cluster{}
		if err := c.Get(ctx, client.ObjectKey{Name: cluster}, now); err != nil {
			return err
		}
		now.Spec.Taints = of(now.Spec.Taints)
		return c.Update(ctx, now)
	}
	t.Cleanup(func() {
		poll.Until(t, propagationTimeout, cluster+" has its taints from before", func(ctx context.Context) error {
			return change(ctx, func(all []corev1.Taint) []corev1.Taint {
				return slices.DeleteFunc(all, func(one corev1.Taint) bool { return one.Key == taint.Key })
			})
		})
	})
	poll.Until(t, propagationTimeout, cluster+" is tainted", func(ctx context.Context) error {
		return change(ctx, func(all []corev1.Taint) []corev1.Taint { return append(all, taint) })
	})
}
