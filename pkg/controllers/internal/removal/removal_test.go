package removal_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/removal"
)

const mine = v1alpha1.InstanceAccessFinalizer

func TestBegun(t *testing.T) {
	joined := v1alpha1.NotRemovable(v1alpha1.ReasonClustersJoined, "m1")
	both := []string{mine, v1alpha1.LifecycleFinalizer}
	for _, c := range []struct {
		reason     string
		alive      bool
		finalizers []string
		forced     string
		removable  []metav1.Condition
		want       bool
	}{
		{reason: "it is not deleted", alive: true, finalizers: both},
		{reason: "clusters are joined", finalizers: both, removable: []metav1.Condition{joined}},
		{reason: "it was not checked yet whether they are", finalizers: both},
		{reason: "it will not be checked", finalizers: []string{mine}, want: true},
		{reason: "they are, and a user said not to wait", finalizers: both, removable: []metav1.Condition{joined}, forced: "true", want: true},
		{reason: "they are, and a user said to wait", finalizers: both, removable: []metav1.Condition{joined}, forced: "false"},
		{reason: "it waits for us", finalizers: both, removable: []metav1.Condition{v1alpha1.NotRemovable(v1alpha1.ReasonCleaningUpFirst, mine)}, want: true},
		{reason: "none is joined", finalizers: both, removable: []metav1.Condition{v1alpha1.Removable(v1alpha1.ReasonRemovable, "")}, want: true},
		{reason: "the last one has left, and it is held by us alone", finalizers: []string{mine}, removable: []metav1.Condition{joined}, want: true},
		{reason: "clusters are joined, and nothing of ours is there", finalizers: both[1:], removable: []metav1.Condition{joined}, want: true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{
				Finalizers: c.finalizers, Annotations: map[string]string{v1alpha1.ForceDeleteAnnotation: c.forced},
			}}
			instance.Status.Conditions = c.removable
			before := instance.DeepCopy()
			if !c.alive {
				instance.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
			}
			if got := removal.Begun(instance, mine); got != c.want {
				t.Errorf("it has begun: %v", got)
			}
			if got := removal.BegunChanged(mine).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: instance}); got != c.want {
				t.Errorf("a caller that waits for it gets it: %v", got)
			}
		})
	}
}
