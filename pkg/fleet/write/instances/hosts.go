package instances

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/connection"
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
	return h.permit(ctx, authorizationv1.ResourceAttributes{Resource: v1alpha1.ClusterResource.Resource, Verb: "patch", Name: name}, argument,
		"the roles that you have in the global cluster do not let you install on cluster %q: it takes patch on clusters.kairship.io", name)
}

// permitProxy returns nil when the caller may have an instance reached through a proxy
// of their own: the proxy chooses the address, so Kairship cannot judge it.
func (h Hosts) permitProxy(ctx context.Context, instance string, to connection.Connection) error {
	if to.ProxyURL == "" {
		return nil
	}
	return h.permit(ctx, authorizationv1.ResourceAttributes{Resource: v1alpha1.InstanceResource.Resource, Subresource: "outboundproxy", Verb: "create", Name: instance}, kubeconfigArgument,
		"the kubeconfig has a proxy-url, and the roles that you have in the global cluster do not let you have instance %q reached through a proxy: it takes create on instances/outboundproxy of kairship.io", instance)
}

// permit asks the global cluster whether the caller may do something; if not, the error
// is the refusal at an argument.
func (h Hosts) permit(ctx context.Context, what authorizationv1.ResourceAttributes, argument, refusal string, name string) error {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	what.Group, what.Version = v1alpha1.GroupName, v1alpha1.GroupVersion.Version
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra(user), ResourceAttributes: &what,
	}}
	answer, err := h.Reviews.Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return unanswered(err)
	case !answer.Status.Allowed || answer.Status.Denied:
		audit.From(ctx).Refuse(name)
		return apierror.At(apierror.New(apierror.CodeForbidden, refusal, name), argument)
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
