package instances

import (
	"context"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// identify is which control plane a connection leads to: the UID of its namespace
// kube-system. It is empty when that cannot be found out now: then the controllers
// do, and use nothing before.
func (s *Service) identify(ctx context.Context, to connection.Connection) (string, error) {
	id, err := s.Identify(ctx, to)
	if errors.Is(err, connection.ErrAddress) {
		return "", apierror.Invalid(kubeconfigArgument,
			"Kairship does not connect to this server or proxy, because %s: an administrator of Kairship opens ranges with --open-address-ranges", connection.ErrAddress)
	}
	return id, nil
}

// unregistered refuses a control plane that another instance holds. That instance is
// named only where the caller may see it.
func (s *Service) unregistered(ctx context.Context, i *v1alpha1.Instance, id string) error {
	if id == "" {
		return nil
	}
	var all v1alpha1.InstanceList
	if err := s.Watched.List(ctx, &all); err != nil {
		return write.Unanswered(err, "the instance")
	}
	for n := range all.Items {
		holder := &all.Items[n]
		if holder.Name == i.Name || !holder.Holds(id) {
			continue
		}
		_, visible, err := s.Access.Instance(ctx, holder.Name)
		switch {
		case err != nil:
			return err
		case !visible:
			return apierror.At(apierror.New(apierror.CodeAlreadyExists,
				"this control plane is registered already, under another name: ask an administrator of Kairship for a role on it"), kubeconfigArgument)
		}
		return apierror.In(apierror.At(apierror.New(apierror.CodeAlreadyExists,
			"this control plane is registered already, as instance %q: use that one; if it is to be reached with this kubeconfig, give it to that one (updateInstance)",
			holder.Name), kubeconfigArgument), holder.Name)
	}
	return nil
}

// sameControlPlane refuses to point an instance to another control plane than its own.
func (s *Service) sameControlPlane(ctx context.Context, i *v1alpha1.Instance, to connection.Connection) error {
	id, err := s.identify(ctx, to)
	if err != nil {
		return err
	}
	if known := i.Status.ControlPlane; id != "" && known != nil && known.Claim == v1alpha1.ClaimHeld && known.KubeSystemID != id {
		return apierror.In(apierror.Invalid(kubeconfigArgument,
			"the kubeconfig leads to another control plane (its kube-system has the UID %s) than instance %q (%s): register that one under a name of its own (registerInstance)",
			id, i.Name, known.KubeSystemID), i.Name)
	}
	return s.unregistered(ctx, i, id)
}
