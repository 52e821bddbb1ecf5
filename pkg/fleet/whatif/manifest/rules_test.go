package manifest

import (
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
)

// override is an override policy of all objects in a namespace; of all of the instance without one.
func override(namespace string, changes ...policyv1alpha1.PlaintextOverrider) *policyv1alpha1.OverridePolicy {
	p := &policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "draft"}}
	p.Spec.OverrideRules = []policyv1alpha1.RuleWithCluster{{
		TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}, Overriders: policyv1alpha1.Overriders{Plaintext: changes},
	}}
	return p
}

func replace(path, value string) policyv1alpha1.PlaintextOverrider {
	return policyv1alpha1.PlaintextOverrider{Path: path, Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte(value)}}
}

func TestOverride(t *testing.T) {
	for _, c := range []struct {
		reason string
		policy *policyv1alpha1.OverridePolicy
		// want are the changed paths in m1, or a part of the error.
		want string
		err  string
	}{
		{"one rule for the cluster", override("shop", replace("/spec/paused", "true"), replace("/spec/replicas", "9")), "", "doc is missing key"},
		{"a rule that applies", override("shop", replace("/spec/replicas", "9")), "/spec/replicas", ""},
		{"another namespace", override("other", replace("/spec/replicas", "9")), "", ""},
	} {
		s, works, _ := captured(t, "frontend", c.policy)
		for _, made := range Make(s, works) {
			switch {
			case made.Cluster == "m2":
				if made.Err != nil {
					t.Errorf("%s: m2: %v", c.reason, made.Err)
				}
				continue
			case c.err != "":
				if made.Err == nil || !strings.Contains(made.Err.Error(), c.err) {
					t.Errorf("%s: the error is %v", c.reason, made.Err)
				}
				continue
			case made.Err != nil:
				t.Errorf("%s: %v", c.reason, made.Err)
				continue
			}
			sent, err := Sent(works["m1"], s.Template)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, change := range diff.Between(sent.Object, made.Manifest.Object) {
				paths = append(paths, change.Path)
			}
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("%s: %q changes, not %q", c.reason, got, c.want)
			}
		}
	}
}

func TestTargets(t *testing.T) {
	spec := &workv1alpha2.ResourceBindingSpec{
		Clusters:   []workv1alpha2.TargetCluster{{Name: "b", Replicas: 2}},
		RequiredBy: []workv1alpha2.BindingSnapshot{{Clusters: []workv1alpha2.TargetCluster{{Name: "b", Replicas: 9}, {Name: "a"}}}},
	}
	if got := Targets(spec); !slices.Equal(got, []workv1alpha2.TargetCluster{{Name: "b", Replicas: 2}, {Name: "a"}}) {
		t.Errorf("%+v", got)
	}
}

// TestMetadata checks what Karmada adds to the manifest of an object without namespace, and of a new Work.
func TestMetadata(t *testing.T) {
	s, _, _ := captured(t, "frontend")
	s.Template.SetNamespace("")
	s.Template.SetAnnotations(map[string]string{workv1alpha2.ResourceConflictResolutionAnnotation: "overwrite"})
	s.Binding.Namespace = ""
	s.Binding.Labels = map[string]string{workv1alpha2.ClusterResourceBindingPermanentIDLabel: "id"}
	made := Make(s, nil)[0]
	if made.Err != nil {
		t.Fatal(made.Err)
	}
	labels, annotations := made.Manifest.GetLabels(), made.Manifest.GetAnnotations()
	if labels[workv1alpha2.ClusterResourceBindingPermanentIDLabel] != "id" || annotations[workv1alpha2.ClusterResourceBindingAnnotationKey] != s.Binding.Name {
		t.Errorf("the binding is not named: %v, %v", labels, annotations)
	}
	if _, known := labels[workv1alpha2.WorkPermanentIDLabel]; known {
		t.Error("a Work that does not exist has an ID")
	}
	if annotations[workv1alpha2.ResourceConflictResolutionAnnotation] != workv1alpha2.ResourceConflictResolutionOverwrite {
		t.Error("the conflict resolution of the template is lost")
	}
}
