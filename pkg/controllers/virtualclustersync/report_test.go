package virtualclustersync

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestReport says how the virtual Cluster is collected, once it says so itself.
func TestReport(t *testing.T) {
	collecting := v1alpha1.IndexedUnknown("Collecting", "Somebody knows.")
	for _, c := range []struct {
		reason string
		age    time.Duration
		says   []metav1.Condition
		want   string
		again  bool
	}{
		{reason: "a new one says nothing yet", again: true},
		{reason: "one from a clock that is ahead does not either", age: -time.Second, again: true},
		{reason: "what it says is repeated, however new it is", says: []metav1.Condition{collecting}, want: "Collecting"},
		{reason: "so it is later", age: time.Hour, says: []metav1.Condition{collecting}, want: "Collecting"},
		{reason: "one that still says nothing is pending", age: time.Minute, want: v1alpha1.ReasonPending},
		{reason: "what else it says does not matter", age: time.Minute, says: []metav1.Condition{v1alpha1.Reachable("x")}, want: v1alpha1.ReasonPending},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := newScope(&v1alpha1.Instance{})
			s.cluster = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Now().Add(-c.age))}}
			s.cluster.Status.Conditions = c.says
			if err := (&Reconciler{}).report(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got := ""
			if s.indexed != nil {
				got = s.indexed.Reason
			}
			if got != c.want || (s.again > 0) != c.again {
				t.Errorf("says %q and looks again after %s; want %q and to look again: %v", got, s.again, c.want, c.again)
			}
		})
	}
}
