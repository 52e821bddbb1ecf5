package instances

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
)

// Reviews asks the global cluster what somebody may do.
type Reviews interface {
	Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error)
}

// Hosts decides who may have a control plane installed on which cluster of the
// inventory. The operator does that with the inventory's credentials of the
// cluster, so it takes what joining the cluster takes: to be permitted to change
// its entry.
type Hosts struct {
	Reviews Reviews
	// Visible reads what the caller may see of the inventory.
	Visible *cluster.Service
}

// Permit returns nil when the caller may have an instance installed on a cluster.
func (h Hosts) Permit(ctx context.Context, name string) error {
	seen, err := h.Visible.Get(ctx, name)
	switch {
	case err != nil:
		return err
	case seen == nil:
		return apierror.At(apierror.NotFound("Cluster", name), hostArgument)
	case seen.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return apierror.Invalid(hostArgument, "cluster %q stands for an instance: nothing can be installed on it", name)
	}
	return h.permitChange(ctx, name, hostArgument)
}

// permitChange returns nil when the caller may change what runs on a host cluster; else
// an error at the argument that asks for it.
func (h Hosts) permitChange(ctx context.Context, name, argument string) error {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra(user),
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: v1alpha1.GroupName, Version: v1alpha1.GroupVersion.Version, Resource: v1alpha1.ClusterResource.Resource, Verb: "patch", Name: name,
		},
	}}
	answer, err := h.Reviews.Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return unanswered(err)
	case !answer.Status.Allowed || answer.Status.Denied:
		audit.From(ctx).Refuse(name)
		return apierror.At(apierror.New(apierror.CodeForbidden,
			"the roles that you have in the global cluster do not let you install on cluster %q: it takes patch on clusters.kairship.io", name), argument)
	}
	return nil
}

func extra(user authz.User) map[string]authorizationv1.ExtraValue {
	out := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		out[key] = values
	}
	return out
}
