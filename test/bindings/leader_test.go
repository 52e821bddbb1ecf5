package bindings

import (
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestAManagerDiesHalfway kills each of the two controller managers once, one of
// which leads, while roles are given and taken away. The other one finishes.
func TestAManagerDiesHalfway(t *testing.T) {
	longtest.Only(t, "test/faults has the leader die too, and what was begun is finished as after a failure")
	s := open(t)
	const many = 12
	for _, process := range []string{"kairship-controller-manager-0", "kairship-controller-manager-1"} {
		t.Run(process, func(t *testing.T) {
			inner := *s
			inner.T = t
			var stays, goes []*v1alpha1.InstanceRoleBinding
			for i := range many {
				goes = append(goes, inner.give(fmt.Sprintf("%s-goes-%d", process[len(process)-1:], i), "alpha", v1alpha1.RoleViewer))
			}
			for i := range many {
				stays = append(stays, inner.give(fmt.Sprintf("%s-stays-%d", process[len(process)-1:], i), "alpha", v1alpha1.RoleEditor))
				inner.change(goes[i], func(spec *v1alpha1.InstanceRoleBindingSpec) { spec.Revoked = true })
				if i == many/2 {
					s.fleet.Kill(t, process)
				}
			}
			for i := range many {
				inner.becomesWithin(lookedAt, stays[i], v1alpha1.ConditionReady, "True/Bound")
				inner.becomesWithin(lookedAt, goes[i], v1alpha1.ConditionReady, "False/Revoked")
				if err := inner.left(t.Context(), goes[i].Name); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
