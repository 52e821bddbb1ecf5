package instanceaccess

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestReachedOtherwise(t *testing.T) {
	instance := func(conditions ...metav1.Condition) *v1alpha1.Instance {
		return &v1alpha1.Instance{
			Spec:   v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged},
			Status: v1alpha1.InstanceStatus{Conditions: conditions},
		}
	}
	withSecret := func(name string) *v1alpha1.Instance {
		i := instance(v1alpha1.Reachable("x"))
		i.Status.KubeconfigSecretRef = &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: name}}
		return i
	}
	down := v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "x")
	for _, c := range []struct {
		reason        string
		before, after *v1alpha1.Instance
		want          bool
	}{
		{"it answers again", instance(down), instance(v1alpha1.Reachable("x")), true},
		{"it does not answer any more", instance(v1alpha1.Reachable("x")), instance(down), true},
		{"it answers for the first time", instance(), instance(v1alpha1.Reachable("x")), true},
		{"another word about the same", instance(v1alpha1.Reachable("x")), instance(v1alpha1.Reachable("y"), v1alpha1.Ready("z")), false},
		{"it has been installed", instance(v1alpha1.Reachable("x")), withSecret("a"), true},
		{"its credentials are in another Secret", withSecret("a"), withSecret("b"), true},
		{"its credentials are where they were", withSecret("a"), withSecret("a"), false},
	} {
		if got := reachedOtherwise().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
