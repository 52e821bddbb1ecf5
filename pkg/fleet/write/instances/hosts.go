package instances

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Hosts decides whether a user may have a control plane installed on a cluster of the inventory.
// The operator installs it with the inventory's credentials of the cluster, so it requires the same
// permission as joining the cluster: the one to change its membership.
type Hosts struct {
	Rights write.Rights
	// Visible reads what the caller may see of the inventory.
	Visible *cluster.Service
}

// permit returns nil when the caller may have an instance installed on a cluster.
func (h Hosts) permit(ctx context.Context, name string) error {
	seen, err := h.Visible.Get(ctx, name)
	switch {
	case err != nil:
		return err
	case seen == nil:
		return apierror.At(apierror.NotFound("Cluster", name), hostArgument)
	case seen.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return apierror.Invalid(hostArgument, "cluster %q stands for an instance: nothing can be installed on it", name)
	}
	return h.Rights.ChangeMembership(ctx, name, hostArgument)
}

// permitProxy returns nil when the caller may have an instance reached through a proxy
// of their own: the proxy chooses the address, so Kairship cannot judge it.
func (h Hosts) permitProxy(ctx context.Context, instance string, to connection.Connection) error {
	if to.ProxyURL == "" {
		return nil
	}
	return h.Rights.Permit(ctx, authorizationv1.ResourceAttributes{
		Resource: v1alpha1.InstanceResource.Resource, Subresource: roles.OutboundProxy, Verb: "create", Name: instance,
	}, instance, kubeconfigArgument,
		"the kubeconfig has a proxy-url, and the roles that you have in the global cluster do not let you have instance %q reached through a proxy: it takes create on instances/outboundproxy of kairship.io", instance)
}
