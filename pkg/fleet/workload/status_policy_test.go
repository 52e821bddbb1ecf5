package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestPolicyRefOf(t *testing.T) {
	tests := []struct {
		reason string
		meta   metav1.ObjectMeta
		want   *PolicyRef
		text   string
	}{
		{
			reason: "no policy claimed it",
			meta:   metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		},
		{
			reason: "a PropagationPolicy",
			meta: metav1.ObjectMeta{
				Labels: map[string]string{"propagationpolicy.karmada.io/permanent-id": "id-1"},
				Annotations: map[string]string{
					"propagationpolicy.karmada.io/name":      "web",
					"propagationpolicy.karmada.io/namespace": "shop",
				},
			},
			want: &PolicyRef{Namespace: "shop", Name: "web", PermanentID: "id-1"},
			text: "PropagationPolicy shop/web",
		},
		{
			reason: "a ClusterPropagationPolicy",
			meta: metav1.ObjectMeta{
				Labels:      map[string]string{"clusterpropagationpolicy.karmada.io/permanent-id": "id-2"},
				Annotations: map[string]string{"clusterpropagationpolicy.karmada.io/name": "agents"},
			},
			want: &PolicyRef{Name: "agents", PermanentID: "id-2"},
			text: "ClusterPropagationPolicy agents",
		},
		{
			reason: "while one takes over from the other, the namespaced one wins",
			meta: metav1.ObjectMeta{Annotations: map[string]string{
				"propagationpolicy.karmada.io/name":        "web",
				"propagationpolicy.karmada.io/namespace":   "shop",
				"clusterpropagationpolicy.karmada.io/name": "agents",
			}},
			want: &PolicyRef{Namespace: "shop", Name: "web"},
			text: "PropagationPolicy shop/web",
		},
		{
			reason: "a name without its namespace is half a claim, which Karmada never writes",
			meta:   metav1.ObjectMeta{Annotations: map[string]string{"propagationpolicy.karmada.io/name": "web"}},
		},
		{
			reason: "a label alone is left over from an old claim",
			meta:   metav1.ObjectMeta{Labels: map[string]string{"propagationpolicy.karmada.io/permanent-id": "id-1"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := PolicyRefOf(&tt.meta)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got != nil && got.String() != tt.text {
				t.Errorf("for a person it is %q, want %q", got, tt.text)
			}
		})
	}
}

func TestAppliedOverrides(t *testing.T) {
	tests := []struct {
		reason      string
		annotations map[string]string
		want        []AppliedOverride
		err         string
	}{
		{reason: "a Work that nothing changed", annotations: map[string]string{"a": "b"}},
		{
			reason: "cluster-scoped ones come first, since Karmada applies them first",
			annotations: map[string]string{
				"policy.karmada.io/applied-overrides":         `[{"policyName":"tag","overriders":{"imageOverrider":[{"component":"Tag","operator":"replace","value":"v2"}]}}]`,
				"policy.karmada.io/applied-cluster-overrides": `[{"policyName":"mirror","overriders":{"imageOverrider":[{"component":"Registry","operator":"add","value":"mirror.example"}]}}]`,
			},
			want: []AppliedOverride{
				{ClusterScoped: true, PolicyName: "mirror", Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
					{Component: policyv1alpha1.Registry, Operator: policyv1alpha1.OverriderOpAdd, Value: "mirror.example"}}}},
				{PolicyName: "tag", Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
					{Component: policyv1alpha1.Tag, Operator: policyv1alpha1.OverriderOpReplace, Value: "v2"}}}},
			},
		},
		{
			reason: "one that can't be read is named, and does not hide the other",
			annotations: map[string]string{
				"policy.karmada.io/applied-overrides":         `[{"policyName":"tag"}]`,
				"policy.karmada.io/applied-cluster-overrides": `{"policyName":"mirror"}`,
			},
			want: []AppliedOverride{{PolicyName: "tag"}},
			err:  "policy.karmada.io/applied-cluster-overrides",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := appliedOverrides(tt.annotations)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.err != "") || (err != nil && !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error is %v, want one about %q", err, tt.err)
			}
		})
	}
}
