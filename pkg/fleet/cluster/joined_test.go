package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	fleetobject "github.com/kairship-io/kairship/pkg/fleet/object"
)

// A user who sees the instance that a cluster is to be joined to sees the cluster, but nothing of
// another instance.
func TestAnotherInstanceIsNotReported(t *testing.T) {
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
		// Figures are those of the instance that it is in.
		object.Status.Summary = &v1alpha1.ClusterSummary{Nodes: v1alpha1.ReadyCount{Total: 3, Ready: 2}}
		figures := cluster.New(object, freshness.Freshness{}).Summary()
		if ofAnother := c.wants != "" && c.in != "" && c.wants != c.in; (figures == nil) != ofAnother {
			t.Errorf("%s: its figures are %+v", c.reason, figures)
		}
		if object.Status.Conditions[0].Message != secret {
			t.Errorf("%s: the watched object was changed", c.reason)
		}
	}
}

func TestSummary(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	object := &v1alpha1.Cluster{}
	if got := cluster.New(object, freshness.Freshness{}).Summary(); got != nil {
		t.Errorf("a cluster that is not counted has %+v", got)
	}
	object.Status.Summary = &v1alpha1.ClusterSummary{
		StaleSince: &since, Nodes: v1alpha1.ReadyCount{Total: 3, Ready: 2},
		CPU:    v1alpha1.Capacity{Allocatable: resource.MustParse("96"), Allocated: resource.MustParse("1500m")},
		Memory: v1alpha1.Capacity{Allocatable: resource.MustParse("2Ki"), Allocated: resource.MustParse("1Ki")},
		Pods:   v1alpha1.Capacity{Allocatable: resource.MustParse("330"), Allocated: resource.MustParse("7")},
	}
	want := &cluster.Summary{
		StaleSince: &since.Time, Nodes: fleetobject.ReadyCount{Total: 3, Ready: 2}, CPU: fleetobject.Capacity{Allocatable: 96, Allocated: 1.5},
		Memory: fleetobject.Capacity{Allocatable: 2048, Allocated: 1024}, Pods: fleetobject.Capacity{Allocatable: 330, Allocated: 7},
	}
	if diff := cmp.Diff(want, cluster.New(object, freshness.Freshness{}).Summary()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
