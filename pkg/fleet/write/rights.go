package write

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Reviews asks the global cluster what a user may do.
type Reviews interface {
	Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// Rights asks the global cluster whether the caller may have Kairship write something
// there with its own identity.
type Rights struct {
	Reviews Reviews
}

// Permit returns nil when the caller may do something with a resource of Kairship, and
// else the refusal at the argument that asks for it. The refusal is recorded under the
// instance, which is empty where the resource belongs to none.
func (r Rights) Permit(ctx context.Context, what authorizationv1.ResourceAttributes, instance, argument, refusal string, values ...any) error {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	what.Group, what.Version = v1alpha1.GroupName, v1alpha1.GroupVersion.Version
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra(user), ResourceAttributes: &what,
	}}
	answer, err := r.Reviews.Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		audit.From(ctx).Fail()
		return apierror.Wrap(err, apierror.CodeTimeout, "the global cluster did not answer the check of your permissions; try again")
	case !answer.Status.Allowed || answer.Status.Denied:
		audit.From(ctx).Refuse(instance)
		return apierror.At(apierror.New(apierror.CodeForbidden, refusal, values...), argument)
	}
	return nil
}

// ChangeMembership returns nil when the caller may join a cluster of the inventory to instances,
// remove it from them, and have instances installed on it. A user who may do one of these may run
// anything on the cluster, so it is one permission. It does not include the permission to change
// the address and credentials of the cluster, and is not included in it.
func (r Rights) ChangeMembership(ctx context.Context, cluster, argument string) error {
	return r.Permit(ctx, authorizationv1.ResourceAttributes{
		Resource: v1alpha1.ClusterResource.Resource, Subresource: v1alpha1.MembershipSubresource, Verb: "update", Name: cluster,
	}, "", argument, "the roles that you have in the global cluster do not let you join cluster %q, take it out of an instance, or install on it: "+
		"that takes update on clusters/membership of kairship.io", cluster)
}

func extra(user authz.User) map[string]authorizationv1.ExtraValue {
	out := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		out[key] = values
	}
	return out
}
