package instanceproxy

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// rightsWithin is how long it is waited for rights in a new namespace, and
	// rightsEvery the time between two looks.
	rightsWithin = 5 * time.Second
	rightsEvery  = 100 * time.Millisecond
)

// RightsCame waits until the user of ctx may write in a namespace that was just made,
// at most five seconds, and reports whether they may. An editor of a whole instance has
// a RoleBinding in each namespace, which the controller manager writes once it hears of
// the namespace.
func RightsCame(ctx context.Context, client Client, namespace string) bool {
	reviews := client.Kubernetes().AuthorizationV1().SelfSubjectAccessReviews()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "configmaps", Namespace: namespace},
	}}
	err := wait.PollUntilContextTimeout(ctx, rightsEvery, rightsWithin, true, func(ctx context.Context) (bool, error) {
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
	return err == nil
}
