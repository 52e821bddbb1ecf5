package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

var observed = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	propagation = `{"apiVersion":"policy.karmada.io/v1alpha1","kind":"KIND","metadata":{"name":"web","namespace":"shop",` +
		`"resourceVersion":"42","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"resourceSelectors":[{"apiVersion":"apps/v1",` +
		`"kind":"Deployment"}],"placement":{"clusterAffinity":{"clusterNames":["m1"]}}}}`
	override = `{"apiVersion":"policy.karmada.io/v1alpha1","kind":"KIND","metadata":{"name":"web","namespace":"shop"},` +
		`"spec":{"overrideRules":[{"overriders":{"imageOverrider":[{"component":"Tag","operator":"replace","value":"v2"}]}}]}}`
)

func TestNewPolicies(t *testing.T) {
	wantPropagation := &policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
	}
	wantOverride := &policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{{
		Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
			{Component: policyv1alpha1.Tag, Operator: policyv1alpha1.OverriderOpReplace, Value: "v2"}}},
	}}}
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			var (
				common *Object
				raw    string
				err    error
			)
			switch kind {
			case KindPropagationPolicy, KindClusterPropagationPolicy:
				raw = strings.ReplaceAll(propagation, "KIND", string(kind))
				p, perr := PropagationPolicyLike(nil), error(nil)
				if kind == KindPropagationPolicy {
					p, perr = NewPropagationPolicy("alpha", []byte(raw), observed)
				} else {
					p, perr = NewClusterPropagationPolicy("alpha", []byte(raw), observed)
				}
				if err = perr; err == nil {
					common = p.Common()
					if diff := cmp.Diff(wantPropagation, p.PropagationSpec()); diff != "" {
						t.Errorf("spec (-want +got):\n%s", diff)
					}
				}
			case KindOverridePolicy, KindClusterOverridePolicy:
				raw = strings.ReplaceAll(override, "KIND", string(kind))
				p, perr := OverridePolicyLike(nil), error(nil)
				if kind == KindOverridePolicy {
					p, perr = NewOverridePolicy("alpha", []byte(raw), observed)
				} else {
					p, perr = NewClusterOverridePolicy("alpha", []byte(raw), observed)
				}
				if err = perr; err == nil {
					common = p.Common()
					if diff := cmp.Diff(wantOverride, p.OverrideSpec()); diff != "" {
						t.Errorf("spec (-want +got):\n%s", diff)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if common.Kind != kind || common.InstanceName != "alpha" || common.Name() != "web" || common.ObservedAt != observed || string(common.Raw) != raw {
				t.Errorf("it is %+v", common)
			}
		})
	}
}

func TestReadEdges(t *testing.T) {
	tests := []struct {
		reason, raw, err string
	}{
		{"items of a list often carry no kind", `{"metadata":{"name":"web"}}`, ""},
		{"metadata alone was asked for", `{"kind":"PartialObjectMetadata","metadata":{"name":"web"}}`, ""},
		{"another kind is a mistake of ours, and told as one", `{"kind":"OverridePolicy","metadata":{"name":"web"}}`, "the object is a OverridePolicy"},
		{"no JSON", `{`, "reading a PropagationPolicy of instance alpha"},
		{"a spec of another shape", `{"spec":{"resourceSelectors":{}}}`, "reading a PropagationPolicy of instance alpha"},
	}
	for _, tt := range tests {
		p, err := NewPropagationPolicy("alpha", []byte(tt.raw), observed)
		switch {
		case (err != nil) != (tt.err != ""), err != nil && !strings.Contains(err.Error(), tt.err):
			t.Errorf("%s: error is %v, want one with %q", tt.reason, err, tt.err)
		case err == nil && (p.Name() != "web" || p.Spec == nil):
			t.Errorf("%s: read %+v", tt.reason, p)
		}
	}
}

func TestObject(t *testing.T) {
	now := metav1.NewTime(observed)
	namespaced := &Object{Meta: metav1.ObjectMeta{Namespace: "shop", DeletionTimestamp: &now, CreationTimestamp: now, ResourceVersion: "42"}}
	if ns := namespaced.Namespace(); ns == nil || *ns != "shop" || !namespaced.Deleting() ||
		!namespaced.CreatedAt().Equal(observed) || namespaced.ResourceVersion() != "42" {
		t.Errorf("it is %+v", namespaced)
	}
	if cluster := (&Object{}); cluster.Namespace() != nil || cluster.Deleting() {
		t.Error("an object without namespace has one, or one that is not deleted is")
	}
}

func TestKindGVR(t *testing.T) {
	got := map[Kind]string{}
	for _, kind := range append(Kinds(), "FederatedResourceQuota") {
		got[kind] = kind.GVR().Resource
	}
	want := map[Kind]string{
		KindPropagationPolicy:        "propagationpolicies",
		KindClusterPropagationPolicy: "clusterpropagationpolicies",
		KindOverridePolicy:           "overridepolicies",
		KindClusterOverridePolicy:    "clusteroverridepolicies",
		"FederatedResourceQuota":     "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	for _, kind := range Kinds() {
		if kind.Namespaced() == strings.HasPrefix(string(kind), "Cluster") {
			t.Errorf("%s: namespaced is %v", kind, kind.Namespaced())
		}
	}
}
