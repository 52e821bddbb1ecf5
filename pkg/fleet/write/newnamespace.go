package write

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kairship-io/kairship/pkg/authz"
)

const (
	// newFor is how long a namespace counts as new after it was made.
	newFor = time.Minute
	// rightsWithin is how long a write waits for the caller's rights in a new namespace,
	// and rightsEvery the time between two looks.
	rightsWithin = 5 * time.Second
	rightsEvery  = 100 * time.Millisecond
)

// rightsCame waits for the caller's rights in a namespace in which the instance has
// refused a write, and reports whether they came. An editor of a whole instance has a
// RoleBinding in each namespace, which the controller manager writes once it hears of
// the namespace. Nothing is waited for where Kairship does not permit the caller to
// write either, and where the namespace is not new. The error is that there is no such
// namespace, which is why they do not come.
func (s *Site) rightsCame(ctx context.Context, namespace string) (came bool, missing error) {
	if !s.grant.Can(authz.VerbCreate, namespace) {
		return false, nil
	}
	found, err := s.client.Kubernetes().CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, err
	case err != nil, s.writer.Now().Sub(found.CreationTimestamp.Time) > newFor:
		return false, nil
	}
	reviews := s.client.Kubernetes().AuthorizationV1().SelfSubjectAccessReviews()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "configmaps", Namespace: namespace},
	}}
	err = wait.PollUntilContextTimeout(ctx, rightsEvery, rightsWithin, true, func(ctx context.Context) (bool, error) {
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
	return err == nil, nil
}
