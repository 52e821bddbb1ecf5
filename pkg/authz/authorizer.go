package authz

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Authorizer reports whether a user is served at all. What they see is decided
// read by read; see Resolver, which is one.
type Authorizer interface {
	// CanServe returns nil when the user may use the API. Its errors are
	// *apierror.Error: CodeForbidden when they may not, CodeTimeout when the
	// global cluster did not answer.
	CanServe(ctx context.Context, u User) error
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
