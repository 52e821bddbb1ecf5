package projection

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/projection"
)

// TestProjection: after each change the projection is what the API computes on demand,
// also when the projector was killed in the middle.
func TestProjection(t *testing.T) {
	s := open(t)
	s.agree(t, "the fleet as it is", func(rows map[projection.WorkloadKey]shown) error {
		if len(rows) == 0 {
			return errors.New("the projection is empty")
		}
		return nil
	})

	policy := s.application(t)
	s.deploy(t, "web", 2)
	s.agree(t, "a workload is deployed", runs("web", 4, "m1", "m2"))
	s.scale(t, "web", 3)
	s.agree(t, "it is scaled", runs("web", 6, "m1", "m2"))
	policy.Spec.Placement.ClusterAffinity.ClusterNames = []string{"m1"}
	s.must(t, s.alpha.Update(t.Context(), policy))
	s.agree(t, "its policy names one cluster", runs("web", 3, "m1"))
	s.noDifference(t)

	const others = 5
	leader, _ := s.Leader(t)
	for n := range others {
		s.deploy(t, fmt.Sprintf("other-%d", n), 1)
		if n == others/2 {
			s.Kill(t, leader)
		}
	}
	s.scale(t, "web", 1)
	s.agree(t, "the projector is killed", func(rows map[projection.WorkloadKey]shown) error {
		err := runs("web", 1, "m1")(rows)
		for n := range others {
			err = errors.Join(err, runs(fmt.Sprintf("other-%d", n), 1, "m1")(rows))
		}
		return err
	})
	s.noDifference(t)

	s.must(t, s.alpha.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.agree(t, "the workload is deleted", func(rows map[projection.WorkloadKey]shown) error {
		if row, found := rows[projection.WorkloadKey{Instance: "alpha", Namespace: namespace, Name: "web", Kind: "DEPLOYMENT"}]; found {
			return fmt.Errorf("its row is %+v", row)
		}
		return nil
	})
	s.noDifference(t)
}
