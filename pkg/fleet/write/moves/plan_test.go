package moves

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

func TestPlanOf(t *testing.T) {
	w := workload.Named{Instance: "alpha", Kind: workload.KindStatefulSet, Namespace: "shop", Name: "cart"}
	cart := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "cart"}
	settings := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap"}
	others := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "StatefulSet"}
	divided := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	marked := map[string]string{moving.FromAnnotation: "m2", moving.ToAnnotation: "m1", moving.BeforeAnnotation: "m2,m3"}
	for _, tt := range []struct {
		reason    string
		selectors []policyv1alpha1.ResourceSelector
		names     []string
		strategy  *policyv1alpha1.ReplicaSchedulingStrategy
		marks     map[string]string
		from, to  string
		want      plan
		code      apierror.Code
		wrong     string
	}{
		{"both until it is ready", []policyv1alpha1.ResourceSelector{cart, settings}, []string{"m2", "m3"}, nil, nil, "m2", "m1", plan{[]string{"m2", "m3"}, []string{"m2", "m3", "m1"}, []string{"m3", "m1"}, true, false}, "", ""},
		{"where it is already", []policyv1alpha1.ResourceSelector{cart}, []string{"m1", "m2"}, nil, nil, "m2", "m1", plan{[]string{"m1", "m2"}, []string{"m1", "m2"}, []string{"m1"}, true, false}, "", ""},
		{"what is divided moves at once", []policyv1alpha1.ResourceSelector{cart}, []string{"m2"}, divided, nil, "m2", "m1", plan{[]string{"m2"}, []string{"m2", "m1"}, []string{"m1"}, false, false}, "", ""},
		{"the second time", []policyv1alpha1.ResourceSelector{cart}, []string{"m2", "m3", "m1"}, nil, marked, "m2", "m1", plan{[]string{"m2", "m3"}, []string{"m2", "m3", "m1"}, []string{"m3", "m1"}, true, true}, "", ""},
		{"another move is under way", []policyv1alpha1.ResourceSelector{cart}, []string{"m2", "m3", "m1"}, nil, marked, "m3", "m1", plan{}, apierror.CodeConflict, "input.from"},
		{"it is not there", []policyv1alpha1.ResourceSelector{cart}, []string{"m2"}, nil, nil, "m3", "m1", plan{}, apierror.CodeInvalid, "input.from[0]"},
		{"nowhere", []policyv1alpha1.ResourceSelector{cart}, []string{"m2"}, nil, nil, "m2", "m2", plan{}, apierror.CodeInvalid, "input.to[0]"},
		{"others would move with it", []policyv1alpha1.ResourceSelector{others}, []string{"m2"}, nil, nil, "m2", "m1", plan{}, apierror.CodeInvalid, "input.name"},
		{"the policy names no clusters", []policyv1alpha1.ResourceSelector{cart}, nil, nil, nil, "m2", "m1", plan{}, apierror.CodeInvalid, "input.name"},
	} {
		p := &policyv1alpha1.PropagationPolicy{Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: tt.selectors,
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: tt.names}, ReplicaScheduling: tt.strategy},
		}}
		p.Namespace, p.Annotations = "shop", tt.marks
		got, err := planOf(p, w, []string{tt.from}, []string{tt.to})
		if tt.code != "" {
			if !apierror.Is(err, tt.code) || !strings.HasPrefix(err.Error(), tt.wrong+": ") {
				t.Errorf("%s: got %v, want %s at %s", tt.reason, err, tt.code, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(plan{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if !cmp.Equal(tt.names, p.Spec.Placement.ClusterAffinity.ClusterNames) {
			t.Errorf("%s: the policy was changed", tt.reason)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		from, to []string
		wrong    string
	}{
		{nil, []string{"a"}, "input.from"},
		{[]string{"a"}, nil, "input.to"},
		{[]string{"a", "a"}, []string{"b"}, "input.from[1]"},
		{[]string{"a"}, []string{"b,c"}, "input.to[0]"},
		{[]string{"a"}, []string{""}, "input.to[0]"},
	} {
		if err := check(tt.from, tt.to); err == nil || !strings.HasPrefix(err.Error(), tt.wrong+": ") {
			t.Errorf("from %v to %v: got %v, want an error at %s", tt.from, tt.to, err, tt.wrong)
		}
	}
}
