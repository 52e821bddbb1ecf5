package write

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kairship-io/kairship/pkg/authz"
)

const (
	// rightsWithin is how long the creation of a namespace waits for the caller's rights
	// in it, and rightsEvery the time between two looks.
	rightsWithin = 5 * time.Second
	rightsEvery  = 100 * time.Millisecond
)

// awaitRights waits until the instance lets the caller work in a namespace that was just
// made. An editor of a whole instance has a RoleBinding in each namespace, which the
// controller manager writes once it hears of the namespace; what comes next may be a
// workload in it. The namespace is made in any case.
func (s *Site) awaitRights(ctx context.Context, namespace string) {
	if !s.grant.Can(authz.VerbCreate, namespace) {
		return
	}
	reviews := s.client.Kubernetes().AuthorizationV1().SelfSubjectAccessReviews()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "configmaps", Namespace: namespace},
	}}
	_ = wait.PollUntilContextTimeout(ctx, rightsEvery, rightsWithin, true, func(ctx context.Context) (bool, error) {
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
}
