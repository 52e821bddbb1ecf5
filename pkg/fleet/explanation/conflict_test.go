package explanation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

func TestInTheWay(t *testing.T) {
	for _, tt := range []struct {
		why    string
		object *workload.Object
		want   string
	}{
		{"the index has none", nil, ""},
		{"it is the workload's own", &workload.Object{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"resourcebinding.karmada.io/permanent-id": "own"}}}, ""},
		{"a controller made it", &workload.Object{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Rollout", Name: "web", Controller: new(true)}}}},
			"; the object there is controlled by Rollout web"},
		{"Helm made it", &workload.Object{ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			Annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"},
		}}, "; the object there belongs to the Helm release shop/web"},
		{"another binding", &workload.Object{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"karmada.io/managed": "true", "resourcebinding.karmada.io/permanent-id": "other"}}},
			"; Karmada sent the object there for another binding, or another Karmada did"},
		{"another tool", &workload.Object{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "pulumi"}}},
			"; the object there is managed by pulumi"},
		{"a person", &workload.Object{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(0, 0))}},
			"; the object there names no owner, and was created at 1970-01-01T00:00:00Z"},
	} {
		in := &inputs{
			Explainable: &workload.Explainable{Status: &workload.Status{BindingID: "own"}},
			Facts:       &workload.Facts{Objects: map[string]*workload.Object{"m1": tt.object}},
		}
		if got := in.inTheWay("m1"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.why, got, tt.want)
		}
	}
}
