package instancestatus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestAnnounced(t *testing.T) {
	var (
		reachable   = v1alpha1.Reachable("It answers.")
		unreachable = v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "It does not.")
		healthy     = v1alpha1.APIServerHealthy("It is well.")
		serving     = v1alpha1.ControlPlaneHealthy("It serves.")
		missing     = v1alpha1.ControlPlaneUnhealthy(v1alpha1.ReasonKarmadaMissing, "It is no Karmada.")
		ready       = v1alpha1.Ready("All is well.")
		unready     = v1alpha1.NotReady(v1alpha1.ReasonKarmadaMissing, "It is not.")
	)
	for _, c := range []struct {
		reason        string
		before, after []metav1.Condition
		want          []string
	}{
		{"of a new instance that is well, that it is ready", nil, []metav1.Condition{reachable, healthy, serving, ready}, []string{v1alpha1.ConditionReady}},
		{
			"of a new one that is not, how far it got", nil, []metav1.Condition{reachable, healthy, missing, unready},
			[]string{v1alpha1.ConditionReachable, v1alpha1.ConditionControlPlaneHealthy, v1alpha1.ConditionReady},
		},
		{
			"of one that is back, all of it",
			[]metav1.Condition{unreachable, healthy, serving, unready}, []metav1.Condition{reachable, healthy, serving, ready},
			[]string{v1alpha1.ConditionReachable, v1alpha1.ConditionAPIServerHealthy, v1alpha1.ConditionControlPlaneHealthy, v1alpha1.ConditionReady},
		},
	} {
		var got []string
		for _, condition := range announced(c.before, c.after) {
			got = append(got, condition.Type)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
