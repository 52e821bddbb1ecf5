package instancelifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestOtherCluster(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*v1alpha1.Cluster)
		want   bool
	}{
		{"nothing changed but its version", func(c *v1alpha1.Cluster) { c.ResourceVersion = "2" }, false},
		{"its health is told all the time", func(c *v1alpha1.Cluster) {
			c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}}
		}, false},
		{"its endpoint or credentials", func(c *v1alpha1.Cluster) { c.Generation = 2 }, true},
		{"which cluster it is", func(c *v1alpha1.Cluster) { c.Status.KubeSystemID = "uid" }, true},
		{"its new credentials are known to lead to it", func(c *v1alpha1.Cluster) { c.Status.CredentialsFingerprint = "new" }, true},
		{"it has left an instance", func(c *v1alpha1.Cluster) { c.Status.Membership = nil }, true},
		{"it is being deleted", func(c *v1alpha1.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
	} {
		before := &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "m1", Generation: 1, ResourceVersion: "1"},
			Status:     v1alpha1.ClusterStatus{Membership: &v1alpha1.ClusterMembership{Instance: "alpha"}},
		}
		now := before.DeepCopy()
		c.change(now)
		if got := otherCluster().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != c.want {
			t.Errorf("%s: it wakes its Instances: %t", c.reason, got)
		}
	}
}
