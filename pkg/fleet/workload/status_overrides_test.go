package workload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
)

const seeEvents = " has not been applied yet; if it cannot be, the workload's events say so"

// tag changes the tag of all images.
func tag(value string) policyv1alpha1.Overriders {
	return policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: "Tag", Operator: replace, Value: value}}}
}

// overridePolicy is an OverridePolicy with one rule for each set of overriders, for all
// clusters; one without namespace is a ClusterOverridePolicy.
func overridePolicy(namespace, name string, overriders ...policyv1alpha1.Overriders) *policyv1alpha1.OverridePolicy {
	p := &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range overriders {
		p.Spec.OverrideRules = append(p.Spec.OverrideRules, policyv1alpha1.RuleWithCluster{Overriders: o})
	}
	return p
}

func selecting(p *policyv1alpha1.OverridePolicy, selectors ...policyv1alpha1.ResourceSelector) *policyv1alpha1.OverridePolicy {
	for i := range selectors {
		selectors[i].APIVersion, selectors[i].Kind = "apps/v1", "Deployment"
	}
	p.Spec.ResourceSelectors = selectors
	return p
}

// in confines all rules of a policy to some clusters.
func in(p *policyv1alpha1.OverridePolicy, affinity policyv1alpha1.ClusterAffinity) *policyv1alpha1.OverridePolicy {
	for i := range p.Spec.OverrideRules {
		p.Spec.OverrideRules[i].TargetCluster = &affinity
	}
	return p
}

// wide is the prefix for records of ClusterOverridePolicies.
const wide = "wide/"

// recorded is the record of a Work: names of policies, each with its overriders.
func recorded(all ...any) []AppliedOverride {
	applied := []AppliedOverride{}
	for i := 0; i < len(all); i += 2 {
		name, clusterScoped := strings.CutPrefix(all[i].(string), wide)
		applied = append(applied, AppliedOverride{ClusterScoped: clusterScoped, PolicyName: name, Overriders: all[i+1].(policyv1alpha1.Overriders)})
	}
	return applied
}

// TestOverridePolicies: a cluster runs what is asked for only when its Work records the
// override policies that select the workload there.
func TestOverridePolicies(t *testing.T) {
	type policies = []*policyv1alpha1.OverridePolicy
	labelled := func(value string) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": value}}}
	}
	plain := func(value string) policyv1alpha1.Overriders { return plaintext("/spec/x", replace, value).Overriders }
	// images has the template run app:v1, and the object in the member another image.
	images := func(image string) func(*Facts) {
		return func(in *Facts) {
			in.Template.Spec.Template.Spec.Containers = []Container{{Name: "web", Image: "app:v1"}}
			object, err := parseObject([]byte(`{"metadata":{"generation":5,"annotations":{"resourcetemplate.karmada.io/generation":"2"}},
				"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"web","image":"` + image + `"}]}}},
				"status":{"observedGeneration":5,"replicas":2,"readyReplicas":2,"availableReplicas":2,"updatedReplicas":2}}`))
			if err != nil {
				t.Fatal(err)
			}
			in.Objects["m1"] = object
		}
	}
	deprecated := overridePolicy("shop", "old")
	deprecated.Spec.Overriders = tag("v2")                                                        //nolint:staticcheck // Karmada still applies them.
	deprecated.Spec.TargetCluster = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}} //nolint:staticcheck // The same.
	deleted := overridePolicy("shop", "a", tag("v2"))
	deleted.DeletionTimestamp = &metav1.Time{}
	type overrideCase struct {
		reason   string
		policies policies
		work     []AppliedOverride
		change   func(*Facts)
		health   Health
		message  string
	}
	var cases []ruleCase
	for _, tt := range []overrideCase{
		{"nothing is asked for, and nothing is recorded", policies{}, recorded(), nil, HealthHealthy, ""},
		{"a policy was made", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), nil, HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"it was applied", policies{overridePolicy("shop", "a", tag("v2"))}, recorded("a", tag("v2")), nil, HealthHealthy, ""},
		{"it was changed", policies{overridePolicy("shop", "a", tag("v3"))}, recorded("a", tag("v2")), nil, HealthProgressing, `m1: a change of override policy "a"` + seeEvents},
		{"it is deleted, and so is its effect: Karmada leaves the record on the Work", policies{}, recorded("a", tag("v2")), images("app:v1"), HealthHealthy, ""},
		{"it is deleted, and its effect is not", policies{}, recorded("a", tag("v2")), images("app:v2"), HealthProgressing, "m1: its images are still those of before a change of override policies"},
		{"it was applied, and has not reached the cluster", policies{overridePolicy("shop", "a", tag("v2"))}, recorded("a", tag("v2")), images("app:v1"),
			HealthProgressing, "m1: its images are still those of before a change of override policies"},
		{"it was applied, and has reached the cluster", policies{overridePolicy("shop", "a", tag("v2"))}, recorded("a", tag("v2")), images("app:v2"), HealthHealthy, ""},
		{"the member changes images on its own", policies{overridePolicy("shop", "a", tag("v2"))}, recorded("a", tag("v2")), images("mirror/app:v2"), HealthHealthy, ""},
		{"what replaces all containers says nothing", policies{overridePolicy("shop", "a", plaintext("/spec/template/spec/containers", replace, `[]`).Overriders)},
			recorded("a", plaintext("/spec/template/spec/containers", replace, `[]`).Overriders), images("app:v1"), HealthHealthy, ""},
		{"one of replicas is deleted, which the record has still", policies{}, recorded("a", plaintext("/spec/replicas", replace, "5").Overriders), nil, HealthHealthy, ""},
		{"one of two is deleted", policies{overridePolicy("shop", "b", tag("v2"))}, recorded("a", tag("v2"), "b", tag("v2")), nil,
			HealthProgressing, `m1: override policy "a" does not select it any more and is still applied`},
		{"it selects another by now", policies{selecting(overridePolicy("shop", "a", tag("v2")), policyv1alpha1.ResourceSelector{Name: "api"}), overridePolicy("shop", "b", tag("v2"))},
			recorded("a", tag("v2"), "b", tag("v2")), nil,
			HealthProgressing, `m1: override policy "a" does not select it any more and is still applied`},
		{"it is being deleted, and applied until it is removed", policies{deleted}, recorded("a", tag("v2")), nil, HealthHealthy, ""},
		{"a policy of another namespace", policies{overridePolicy("ops", "a", tag("v2"))}, recorded(), nil, HealthHealthy, ""},
		{"a policy for the instance has no name in a message", policies{overridePolicy("", "secret", tag("v2")), overridePolicy("", "secret-2", tag("v3"))}, recorded(), nil,
			HealthProgressing, "m1: a cluster override policy" + seeEvents},
		{"nor has one that was changed", policies{overridePolicy("", "secret", tag("v2"))}, recorded(wide+"secret", tag("v1")), nil,
			HealthProgressing, "m1: a change of a cluster override policy" + seeEvents},
		{"nor one that was deleted", policies{overridePolicy("", "w", tag("v1"))}, recorded(wide+"secret", tag("v1"), wide+"w", tag("v1")), nil,
			HealthProgressing, "m1: a cluster override policy does not select it any more and is still applied"},
		{"one of each under the same name", policies{overridePolicy("", "a", tag("v1")), overridePolicy("shop", "a", tag("v2"))}, recorded(wide+"a", tag("v1")), nil,
			HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"the rules of one policy in their order", policies{overridePolicy("shop", "a", tag("v1"), tag("v2"))}, recorded("a", tag("v1"), "a", tag("v2")), nil, HealthHealthy, ""},
		{"and in another", policies{overridePolicy("shop", "a", tag("v2"), tag("v1"))}, recorded("a", tag("v1"), "a", tag("v2")), nil,
			HealthProgressing, `m1: a change of override policy "a"` + seeEvents},
		{"by name, whatever their order of application", policies{
			selecting(overridePolicy("shop", "a", tag("v1")), policyv1alpha1.ResourceSelector{Name: "web"}), overridePolicy("shop", "b", tag("v2")),
		}, recorded("a", tag("v1"), "b", tag("v2")), nil, HealthHealthy, ""},
		{"a rule for this cluster", policies{in(overridePolicy("shop", "a", tag("v2")), policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}})}, recorded(), nil,
			HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"a rule for another", policies{in(overridePolicy("shop", "a", tag("v2")), policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}})}, recorded(), nil, HealthHealthy, ""},
		{"a rule for clusters with a label", policies{in(overridePolicy("shop", "a", tag("v2")),
			policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}})}, recorded(), nil,
			HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"the deprecated form", policies{deprecated}, recorded("old", tag("v2")), nil, HealthHealthy, ""},
		{"the deprecated form, changed", policies{deprecated}, recorded("old", tag("v1")), nil, HealthProgressing, `m1: a change of override policy "old"` + seeEvents},
		{"a policy without overriders is recorded", policies{overridePolicy("shop", "a", policyv1alpha1.Overriders{})}, recorded("a", policyv1alpha1.Overriders{}), nil, HealthHealthy, ""},
		{"and so it is when it was not yet", policies{overridePolicy("shop", "a", policyv1alpha1.Overriders{})}, recorded(), nil, HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"the same JSON, written otherwise", policies{overridePolicy("shop", "a", plain(`{"b": "<", "a": [1.0]}`))}, recorded("a", plain(`{"a":[1],"b":"\u003c"}`)), nil, HealthHealthy, ""},
		{"what is no JSON is not known to differ", policies{overridePolicy("shop", "a", plain(`{`))}, recorded("a", plain(`1`)), nil, HealthHealthy, ""},
		{"a label that it has", policies{selecting(overridePolicy("shop", "a", tag("v2")), labelled("front"))}, recorded(), nil, HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"a label that it has not", policies{selecting(overridePolicy("shop", "a", tag("v2")), labelled("back"))}, recorded(), nil, HealthHealthy, ""},
		{"a label that a policy for the instance may change", policies{
			overridePolicy("", "w", policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: replace, Value: map[string]string{"tier": "back"}}}}),
			selecting(overridePolicy("shop", "a", tag("v2")), labelled("front")),
		}, recorded(wide+"w", policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: replace, Value: map[string]string{"tier": "back"}}}}), nil,
			HealthHealthy, ""},
		{"there is no Work yet", policies{overridePolicy("shop", "a", tag("v2"))}, nil, nil, HealthHealthy, ""},
		{"policies were not looked for", nil, recorded("a", tag("v2")), nil, HealthHealthy, ""},
		{"the member is not known", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) { in.Members["m1"] = Member{Ready: metav1.ConditionTrue} }, HealthHealthy, ""},
		{"the member was removed, which comes first", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) { delete(in.Members, "m1") },
			HealthUnknown, "m1: the instance has no such member cluster any more; the counts are the last known"},
		{"dispatching is suspended: what was sent last counts", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) {
			in.Binding.Spec.Suspension = &workv1alpha2.Suspension{}
			in.Binding.Spec.Suspension.Dispatching = new(true)
		}, HealthHealthy, "m1: dispatching is suspended by the policy"},
		{"scheduling is suspended, and Karmada applies policies nevertheless", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) {
			in.Binding.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
		}, HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"something failed, which stays", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) {
			in.Binding.Status.AggregatedStatus[0].Applied, in.Binding.Status.AggregatedStatus[0].AppliedMessage = false, "no"
		}, HealthDegraded, `m1: override policy "a"` + seeEvents + "; the latest manifest could not be applied: no"},
		{"a dependency goes where others need it", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) {
			in.Binding.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Clusters: in.Binding.Spec.Clusters}}
			in.Binding.Spec.Clusters = nil
		}, HealthProgressing, `m1: override policy "a"` + seeEvents},
		{"no policy claims it any more, and override policies still apply", policies{overridePolicy("shop", "a", tag("v2"))}, recorded(), func(in *Facts) { in.Template.Annotations = nil },
			HealthUnmanaged, "no propagation policy claims it any more: it stays where it was sent, and Karmada sends no further changes; " + `m1: override policy "a"` + seeEvents},
	} {
		suspended := strings.Contains(tt.reason, "suspended")
		cases = append(cases, ruleCase{
			reason: tt.reason, health: tt.health, message: tt.message, suspended: suspended, counts: ReplicaCounts{2, 2, 2, 2},
			in: func(*testing.T) Facts {
				in := facts(KindDeployment, "m1").report("m1", good)
				in.Template.Labels = map[string]string{"tier": "front"}
				in.Members["m1"] = Member{Ready: metav1.ConditionTrue, Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", Labels: map[string]string{"zone": "a"}}}}
				in.OverridePolicies, in.Overrides = tt.policies, map[string][]AppliedOverride{}
				if tt.work != nil {
					in.Overrides["m1"] = tt.work
				}
				if tt.change != nil {
					tt.change(&in)
				}
				return in
			},
		})
	}
	checkRules(t, cases)
}

// TestRecord: a Work that records nothing is another thing than no Work, and one that
// cannot be read is like none.
func TestRecord(t *testing.T) {
	for _, tt := range []struct {
		reason, namespace, text string
		known                   bool
	}{
		{"nothing was applied", "karmada-es-m1", "", true},
		{"something was", "karmada-es-m1", `[{"policyName":"a"}]`, true},
		{"it was written by another client", "karmada-es-m1", `a`, false},
		{"it is no Work of Karmada", "shop", `[{"policyName":"a"}]`, false},
	} {
		overrides := map[string][]AppliedOverride{}
		Record(overrides, tt.namespace, map[string]string{appliedOverridesAnnotation: tt.text})
		if _, known := overrides["m1"]; known != tt.known || len(overrides) > 1 {
			t.Errorf("%s: got %+v", tt.reason, overrides)
		}
	}
}

// TestSelectsAsKarmada compares which workloads and clusters are selected with Karmada's
// own functions, for selectors made at random.
func TestSelectsAsKarmada(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	some := func(of ...string) []string { return of[:random.IntN(len(of)+1)] }
	selector := func() *metav1.LabelSelector {
		switch random.IntN(4) {
		case 0:
			return nil
		case 1:
			return &metav1.LabelSelector{MatchLabels: map[string]string{one("a", "b"): one("1", "2")}}
		}
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: one("a", "b"), Operator: metav1.LabelSelectorOperator(one("In", "NotIn", "Exists", "DoesNotExist", "Like")), Values: some("1", "2")},
		}}
	}
	some1 := func() map[string]string { return map[string]string{one("a", "b"): one("1", "2")} }
	selected, targeted := map[int]int{}, map[bool]int{}
	for range 5000 {
		in := facts(Kind(one(string(KindDeployment), string(KindStatefulSet))), "m1")
		in.Template.Labels = some1()
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(in.Kind.GVK())
		u.SetNamespace(in.Template.Namespace)
		u.SetName(in.Template.Name)
		u.SetLabels(in.Template.Labels)
		var selectors []policyv1alpha1.ResourceSelector
		for range 1 + random.IntN(3) {
			selectors = append(selectors, policyv1alpha1.ResourceSelector{
				APIVersion: one("apps/v1", "apps/v1", "v1"), Kind: one("Deployment", "StatefulSet"), Namespace: one("", "shop", "ops"), Name: one("", "", "web", "api"), LabelSelector: selector(),
			})
		}
		got, want := in.selectedBy(selectors), int(karmadautil.ResourceMatchSelectorsPriority(u, selectors...))
		if got != want {
			t.Fatalf("%s of %+v: got %d, Karmada has %d", shown(selectors), in.Template.Labels, got, want)
		}
		selected[got]++

		cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: one("m1", "m2"), Labels: some1()}}
		cluster.Spec.Provider, cluster.Spec.Region, cluster.Spec.Zones = one("", "p"), one("", "r"), some("z1", "z2")
		affinity := policyv1alpha1.ClusterAffinity{LabelSelector: selector(), ClusterNames: some("m1", "m3"), ExcludeClusters: some("m2")}
		if random.IntN(2) == 0 {
			affinity.FieldSelector = &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: one("provider", "region", "zone"), Operator: corev1.NodeSelectorOperator(one("In", "NotIn", "Exists", "DoesNotExist", "Gt")), Values: some("p", "r", "z1")},
			}}
		}
		is, karmadas := targets(&affinity, cluster), karmadautil.ClusterMatches(cluster, affinity)
		if is != karmadas {
			t.Fatalf("%s of %s: got %v, Karmada has %v", shown(affinity), shown(cluster), is, karmadas)
		}
		targeted[is]++
	}
	for priority := notSelected; priority <= selectedByName; priority++ {
		if selected[priority] < 100 {
			t.Errorf("only %d selectors have the priority %d", selected[priority], priority)
		}
	}
	if targeted[true] < 100 || targeted[false] < 100 {
		t.Errorf("the clusters were %v", targeted)
	}
}

func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
