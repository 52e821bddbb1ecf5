package preview

import (
	"context"
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

// aliases joins the fleet's members once more under other names, for the time of the test: to Karmada they are
// clusters of their own. Nothing is sent to them.
func (s *scene) aliases(t *testing.T) []string {
	t.Helper()
	var names []string
	for alias, of := range map[string]string{"t1": "m1", "t2": "m2", "t3": "m1", "t4": "m2"} {
		var m clusterv1alpha1.Cluster
		if err := s.Get(t.Context(), client.ObjectKey{Name: of}, &m); err != nil {
			t.Fatal(err)
		}
		c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: alias}, Spec: m.Spec}
		c.Spec.ID, c.Spec.Taints = "", nil
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		names = append(names, alias)
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(s.Delete(context.Background(), c)); err != nil {
				t.Error(err)
			}
			poll.Until(t, within, "the alias leaves", func(ctx context.Context) error {
				return client.IgnoreNotFound(s.Get(ctx, client.ObjectKey{Name: alias}, &clusterv1alpha1.Cluster{}))
			})
		})
		poll.True(t, within, alias+" is ready", func() bool {
			var now clusterv1alpha1.Cluster
			return s.Get(t.Context(), client.ObjectKey{Name: alias}, &now) == nil && meta.IsStatusConditionTrue(now.Status.Conditions, clusterv1alpha1.ClusterConditionReady) &&
				now.Status.ResourceSummary != nil && len(now.Status.APIEnablements) > 0
		})
	}
	slices.Sort(names)
	return names
}
