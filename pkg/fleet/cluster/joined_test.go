package cluster_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

// Whoever sees the instance that a cluster is to be joined to sees the cluster, and
// is told nothing of another instance.
func TestNothingIsToldOfAnotherInstance(t *testing.T) {
	const secret = "2 objects are propagated to it by beta"
	for _, c := range []struct {
		reason    string
		wants, in string
		condition metav1.Condition
		shown     bool
	}{
		{"it is where it is to be", "beta", "beta", v1alpha1.NotJoined(v1alpha1.ReasonJoining, secret), true},
		{"a free one is seen by those who see all", "", "beta", v1alpha1.NotJoined(v1alpha1.ReasonBlocked, secret), true},
		{"it is still in another one", "alpha", "beta", v1alpha1.NotJoined(v1alpha1.ReasonBlocked, secret), false},
		{"another one has it", "alpha", "", v1alpha1.NotJoined(v1alpha1.ReasonJoinedElsewhere, secret), false},
		{"a free one that another has", "", "", v1alpha1.NotJoined(v1alpha1.ReasonJoinedElsewhere, secret), true},
	} {
		object := &v1alpha1.Cluster{}
		if c.wants != "" {
			object.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: c.wants}
		}
		if c.in != "" {
			object.Status.Membership = &v1alpha1.ClusterMembership{Instance: c.in}
		}
		object.Status.Conditions = []metav1.Condition{c.condition, v1alpha1.Ready("fine")}
		shown := cluster.New(object, freshness.Freshness{}).Conditions()
		if len(shown) != 2 || shown[0].Reason != c.condition.Reason {
			t.Fatalf("%s: the conditions are %+v", c.reason, shown)
		}
		if got := strings.Contains(shown[0].Message, "beta"); got != c.shown {
			t.Errorf("%s: it says %q", c.reason, shown[0].Message)
		}
		if object.Status.Conditions[0].Message != secret {
			t.Errorf("%s: the watched object was changed", c.reason)
		}
	}
}
