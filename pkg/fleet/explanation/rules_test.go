package explanation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// overriddenBy adds an override policy shop/web whose rule is for a cluster.
func overriddenBy(x *workload.Explainable, cluster string) {
	spec := policyv1alpha1.OverrideSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{byName()},
		OverrideRules:     []policyv1alpha1.RuleWithCluster{{TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}}},
	}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	x.Facts.OverridePolicies = append(x.Facts.OverridePolicies, &policyv1alpha1.OverridePolicy{ObjectMeta: meta, Spec: spec})
	o := &policy.OverridePolicy{Spec: &spec}
	o.Indexed, o.Fresh = &index.Object{Kind: "OverridePolicy", Meta: meta}, freshness.Freshness{}
	x.OverridePolicies = append(x.OverridePolicies, o)
}

// documentedCodes are the codes with their lines in the schema.
func documentedCodes(t *testing.T) map[Code]string {
	t.Helper()
	raw, err := os.ReadFile("../../../graph/schema/explanation.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	_, enum, _ := strings.Cut(string(raw), "enum ExplanationCode {")
	codes := map[Code]string{}
	for _, found := range regexp.MustCompile(`"(.*)"\n {2}([A-Z_]+)\n`).FindAllStringSubmatch(enum, -1) {
		codes[Code(found[2])] = found[1]
	}
	return codes
}

// TestPageListsEveryCode compares the table of the page with the schema.
func TestPageListsEveryCode(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/explanation.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := documentedCodes(t)
	for code, text := range codes {
		stages, line, _ := strings.Cut(text, ": ")
		if row := fmt.Sprintf("| %s | %#q | %s |", stages, code, line); !strings.Contains(string(raw), row) {
			t.Errorf("docs/explanation.md lacks %s", row)
		}
	}
	if rows := len(regexp.MustCompile("(?m)^\\| [A-Z ]+( and [A-Z]+)? \\| `").FindAll(raw, -1)); rows != len(codes) {
		t.Errorf("docs/explanation.md has %d codes, the schema %d", rows, len(codes))
	}
}

// TestDifferencesAreKarmadas checks that a selector without a difference is one that Karmada finds
// to match, and no other.
func TestDifferencesAreKarmadas(t *testing.T) {
	pick := func(values ...string) string { return values[rand.IntN(len(values))] }
	matched := 0
	for range 5000 {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion("apps/v1")
		o.SetKind("Deployment")
		o.SetNamespace(pick("shop", "stage"))
		o.SetName(pick("web", "api"))
		o.SetLabels(map[string]string{"app": pick("web", "api")})
		s := policyv1alpha1.ResourceSelector{APIVersion: pick("apps/v1", "apps/v1", "apps/v1beta1"), Kind: pick("Deployment", "Deployment", "StatefulSet"), Namespace: pick("", "shop"), Name: pick("", "", "web")}
		switch rand.IntN(4) {
		case 0:
			s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick("web", "api")}}
		case 1:
			s.LabelSelector = &metav1.LabelSelector{}
		case 2:
			s.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOperator(pick("In", "NotIn", "Wrong")), Values: []string{"web"}}}}
		}
		matches := karmadautil.ResourceMatches(o, s)
		if matches {
			matched++
		}
		if differs := differences(o, &s); matches != (len(differs) == 0) {
			t.Fatalf("Karmada says %v of %+v, and it differs in %v", matches, s, differs)
		}
	}
	if matched == 0 {
		t.Error("nothing matched")
	}
}

// TestFiltersAreKarmadas checks that the plugins are those of Karmada's scheduler that filter, but
// for those that are left out.
func TestFiltersAreKarmadas(t *testing.T) {
	left := map[string]bool{"ClusterEviction": true, "ClusterLocality": true, "WorkloadAffinity": true, "WorkloadAntiAffinity": true}
	for _, name := range plugins.NewInTreeRegistry().FactoryNames() {
		run := false
		for _, f := range filters {
			run = run || f.plugin.Name() == name
		}
		if run == left[name] {
			t.Errorf("the plugin %s is run: %v", name, run)
		}
	}
}

// TestMembersAreNotNamed checks that the names of clusters that a workload does not go to are hidden
// from callers who may not list them.
func TestMembersAreNotNamed(t *testing.T) {
	for _, tt := range codeCases {
		x := web()
		tt.make(x)
		status := workload.Evaluate(*x.Facts)
		x.Status, x.SeesMembers = &status, false
		for _, s := range Explain(x).Steps {
			for _, r := range s.Reasons {
				shown := strings.Contains(status.Message, "m2") || len(status.Placements) == 2 || r.Code == OverrideOtherCluster
				if !shown && (value(r.ClusterName) == "m2" || strings.Contains(r.Message, "m2")) {
					t.Errorf("%s: %s names m2: %s", tt.code, s.Stage, r.Message)
				}
			}
		}
	}
}

// TestHiddenPolicyIsNotNamed checks that a ClusterPropagationPolicy that the caller may not see is
// not named.
func TestHiddenPolicyIsNotNamed(t *testing.T) {
	x := web()
	scheduled(x)
	x.Facts.Template.Annotations, x.Policies, x.SeesMembers = map[string]string{policyv1alpha1.ClusterPropagationPolicyAnnotation: "secret"}, nil, false
	x.Facts.Overrides["m1"] = []workload.AppliedOverride{{ClusterScoped: true, PolicyName: "secret"}}
	status := workload.Evaluate(*x.Facts)
	x.Status = &status
	e := Explain(x)
	agrees(t, x, e)
	if text := fmt.Sprintf("%+v", e); strings.Contains(text, "secret") {
		t.Error(text)
	}
	if codes := codesAt(e, StagePolicy); len(codes) != 1 || codes[0] != string(PolicyClaimed) {
		t.Errorf("reasons %v", codes)
	}
}

// TestManyAreCounted checks that of many reasons that are alike few are listed.
func TestManyAreCounted(t *testing.T) {
	x := web()
	unready(waits("ImagePullBackOff"))(x)
	for range 9 {
		x.Pods["m1"] = append(x.Pods["m1"], x.Pods["m1"][0])
	}
	for i := range 30 {
		name := fmt.Sprintf("n%02d", i)
		x.Facts.Members[name] = member(name)
	}
	status := workload.Evaluate(*x.Facts)
	x.Status = &status
	e := Explain(x)
	agrees(t, x, e)
	run, scheduling := e.Steps[5].Reasons, e.Steps[1].Reasons
	if last := run[len(run)-1]; len(run) != 1+mostPods+1 || last.Message != "and 7 more pods" || value(last.ClusterName) != "m1" || last.Code != PodImage {
		t.Errorf("%d reasons, the last %+v", len(run), last)
	}
	if last := scheduling[len(scheduling)-1]; len(scheduling) != mostClusters+1 || last.Message != "and 11 more member clusters" || last.ClusterName != nil {
		t.Errorf("%d reasons, the last %+v", len(scheduling), last)
	}
}
