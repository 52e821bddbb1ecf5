package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// unfinished are workloads that Karmada's programs have not dealt with, with reasons as in given.
var unfinished = map[string][]string{
	"unclaimed":   {"POLICY_CLAIM_PENDING unclaimed"},
	"scaled":      {"BINDING_PENDING scaled"},
	"changed":     {"POLICY_CHANGE_PENDING changed"},
	"unselected":  {"POLICY_NO_LONGER_SELECTS unselected"},
	"gone":        {"POLICY_GONE"},
	"overridden":  {"OVERRIDE_PENDING m1"},
	"vanished":    {"CLUSTER_GONE vanished"},
	"leaving":     {"CLUSTER_LEAVING m1"},
	"dependency":  {"POLICY_DEPENDENCY"},
	"unsent":      {"WORK_MISSING m1"},
	"unscheduled": {"SCHEDULER_PENDING"},
}

// TestReasonsOfWhatIsPending stops Karmada's scheduler and controllers, and reads from the explanations what they have
// not done.
func TestReasonsOfWhatIsPending(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	ns := "suite-" + w.id + "-pending"
	t.Cleanup(w.remove)
	// A controller that was stopped for long gives up the lead, and ends, when it goes on.
	t.Cleanup(func() { on.fleet.Heal(t) })
	alpha := w.fleet.Client(t, "alpha")
	do := func(what string, f func(ctx context.Context) error) {
		t.Helper()
		poll.Until(t, propagationTimeout, what, f)
	}
	both := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.create(t, created{"alpha", deployment(w.meta(ns, name))}, created{"alpha", propagation(w.meta(ns, name), selects("Deployment", ns, name), to("m1"))})
		}
	}
	patch := func(o client.Object, text string) {
		t.Helper()
		if err := alpha.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	policy := func(name string) client.Object { return propagation(w.meta(ns, name), nil, to()) }
	bound := func(name string, scheduled bool) {
		t.Helper()
		do(name+" has a binding", func(ctx context.Context) error {
			b := &workv1alpha2.ResourceBinding{}
			if err := alpha.Get(ctx, client.ObjectKey{Namespace: ns, Name: name + "-deployment"}, b); err != nil {
				return err
			}
			if scheduled && len(b.Spec.Clusters) != 1 {
				return errors.New("it is not scheduled")
			}
			return nil
		})
	}
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	early := []string{"scaled", "changed", "unselected", "gone", "overridden", "vanished", "leaving"}
	both(early...)
	for _, name := range early {
		do("m1 has "+name, func(ctx context.Context) error {
			return w.fleet.Client(t, "m1").Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, deployment(metav1.ObjectMeta{}))
		})
	}
	thaw := w.fleet.Freeze(t, "alpha-scheduler")
	both("unsent")
	bound("unsent", false)
	w.fleet.Freeze(t, "alpha-controller-manager")
	thaw()
	bound("unsent", true)
	w.fleet.Freeze(t, "alpha-scheduler")

	both("unclaimed")
	patch(deployment(w.meta(ns, "scaled")), `{"spec":{"replicas":2}}`)
	patch(policy("changed"), `{"spec":{"placement":{"clusterAffinity":{"clusterNames":["m2"]}}}}`)
	patch(policy("unselected"), `{"spec":{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment","name":"none-such"}]}}`)
	if err := alpha.Delete(t.Context(), policy("gone")); err != nil {
		t.Fatal(err)
	}
	do("the policy is gone", func(ctx context.Context) error {
		err := alpha.Patch(ctx, policy("gone"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		return client.IgnoreNotFound(err)
	})
	w.create(t, created{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(ns, "overridden"), Spec: tagging(selects("Deployment", ns, "overridden"), "m1")}})
	for name, clusters := range map[string]string{"vanished": `[{"name":"vanished","replicas":1}]`, "leaving": `[{"name":"m2","replicas":1}]`} {
		patch(&workv1alpha2.ResourceBinding{ObjectMeta: w.meta(ns, name+"-deployment")}, `{"spec":{"clusters":`+clusters+`}}`)
	}
	b := &workv1alpha2.ResourceBinding{}
	if err := alpha.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "unsent-deployment"}, b); err != nil {
		t.Fatal(err)
	}
	// A binding as the detector makes it, which the scheduler has not looked at.
	unscheduled := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "unscheduled-deployment", Labels: b.Labels, Annotations: b.Annotations, Finalizers: b.Finalizers}, Spec: *b.Spec.DeepCopy()}
	template := deployment(w.meta(ns, "unscheduled"))
	template.Labels[policyv1alpha1.PropagationPolicyPermanentIDLabel] = b.Labels[policyv1alpha1.PropagationPolicyPermanentIDLabel]
	template.Annotations = map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: ns, policyv1alpha1.PropagationPolicyNameAnnotation: "unsent"}
	w.create(t, created{"alpha", template})
	unscheduled.Spec.Resource.Name, unscheduled.Spec.Resource.UID, unscheduled.Spec.Clusters = "unscheduled", template.UID, nil
	w.create(t, created{"alpha", unscheduled})

	// A binding as the dependencies distributor makes it, of what no policy claims. Without the finalizer,
	// Karmada would leave its Work behind.
	template = deployment(w.meta(ns, "dependency"))
	w.create(t, created{"alpha", template})
	required := &workv1alpha2.ResourceBinding{ObjectMeta: w.meta(ns, "dependency-deployment"), Spec: workv1alpha2.ResourceBindingSpec{
		Resource:   workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: ns, Name: "dependency", UID: template.UID},
		RequiredBy: []workv1alpha2.BindingSnapshot{{Namespace: ns, Name: "overridden-deployment", Clusters: []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 1}}}},
	}}
	required.Finalizers = b.Finalizers
	w.create(t, created{"alpha", required})

	poll.Until(t, propagationTimeout, "every explanation has its reasons", func(ctx context.Context) error {
		data, _, err := gql.Query[struct{ Workloads struct{ Nodes []explained } }](ctx, on.kairship, explanations, map[string]any{"ns": []string{ns}})
		if err != nil {
			return err
		}
		found := map[string]*explained{}
		for i := range data.Workloads.Nodes {
			found[data.Workloads.Nodes[i].Name] = &data.Workloads.Nodes[i]
		}
		var all []error
		for name, reasons := range unfinished {
			if one := found[name]; one == nil {
				all = append(all, fmt.Errorf("%s is not there", name))
			} else if err := one.has(reasons); err != nil {
				all = append(all, fmt.Errorf("%s at %s %s: %w", name, one.Explanation.Stage, one.Explanation.State, err))
			}
		}
		return errors.Join(all...)
	})
}
