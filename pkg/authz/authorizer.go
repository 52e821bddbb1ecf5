package authz

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Authorizer tells what a user may do. Decisions per instance and per namespace
// join this interface as further methods; each takes the user and decides nothing else.
type Authorizer interface {
	// CanServe returns nil when the user may use the API at all. Its errors are
	// *apierror.Error: CodeForbidden when they may not, CodeTimeout when the
	// global cluster did not answer.
	CanServe(ctx context.Context, u User) error
}

// AccessReviewAuthorizer asks the global cluster's RBAC by SubjectAccessReview.
type AccessReviewAuthorizer struct {
	reviews authorizationclient.SubjectAccessReviewInterface
	serve   *decisions[struct{}]
}

var _ Authorizer = (*AccessReviewAuthorizer)(nil)

// NewAuthorizer makes an authorizer over the SubjectAccessReview client of the
// global cluster. now is the clock of its cache; nil means time.Now.
func NewAuthorizer(reviews authorizationclient.SubjectAccessReviewInterface, now func() time.Time) *AccessReviewAuthorizer {
	if now == nil {
		now = time.Now
	}
	return &AccessReviewAuthorizer{reviews: reviews, serve: newDecisions[struct{}]("your permissions", usualMemory, now)}
}

// CanServe implements Authorizer: the API serves those who may get every
// Instance of the global cluster.
func (a *AccessReviewAuthorizer) CanServe(ctx context.Context, u User) error {
	_, err := a.serve.decide(ctx, u.identity(), func(ctx context.Context) (answer[struct{}], error) {
		allowed, err := a.allowed(ctx, u, authorizationv1.ResourceAttributes{
			Verb: "get", Group: "kairship.io", Resource: "instances",
		})
		if err != nil || allowed {
			return answer[struct{}]{}, err
		}
		return answer[struct{}]{refusal: apierror.New(apierror.CodeForbidden,
			"you may not get instances.kairship.io in the global cluster; ask an administrator for a role that allows it")}, nil
	})
	return err
}

func (a *AccessReviewAuthorizer) allowed(ctx context.Context, u User, attributes authorizationv1.ResourceAttributes) (bool, error) {
	result, err := a.reviews.Create(ctx, accessReview(u, attributes), metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return result.Status.Allowed, nil
}

// accessReview asks about one user and one thing to do.
func accessReview(u User, attributes authorizationv1.ResourceAttributes) *authorizationv1.SubjectAccessReview {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: u.Name, UID: u.UID, Groups: u.Groups, ResourceAttributes: &attributes,
	}
	if len(u.Extra) > 0 {
		spec.Extra = make(map[string]authorizationv1.ExtraValue, len(u.Extra))
		for k, v := range u.Extra {
			spec.Extra[k] = v
		}
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}
