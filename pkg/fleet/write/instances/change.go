package instances

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/extraargs"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// UpdateInput is the input of updateInstance. What is nil stays.
type UpdateInput struct {
	Instance        string
	ResourceVersion string
	Alias           *string
	Labels          []object.Pair
	KarmadaVersion  *string
	Components      *instance.Components
	DeletionPolicy  *v1alpha1.DeletionPolicy
	Collect         *v1alpha1.CollectedKinds
	Kubeconfig      *string
	DryRun          bool
}

// Update changes an instance.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Payload, error) {
	i, err := s.find(ctx, in.Instance, authz.VerbUpdateInstance, "change")
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(&in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	if err := based(i, &in.ResourceVersion); err != nil {
		return nil, err
	}
	before := i.DeepCopy()
	if err := in.apply(i); err != nil {
		return nil, err
	}
	if err := s.mayInstall(ctx, before, i); err != nil {
		return nil, err
	}
	if i.Spec.Mode == v1alpha1.InstanceModeManaged && before.Spec.KarmadaVersion != i.Spec.KarmadaVersion {
		if err := s.installable(i.Spec.KarmadaVersion); err != nil {
			return nil, err
		}
	}
	var (
		credentials []byte
		moves       bool
	)
	if in.Kubeconfig != nil {
		if i.Spec.Mode != v1alpha1.InstanceModeExternal {
			return nil, apierror.Invalid(kubeconfigArgument, "instance %q is Managed: its credentials come from its installation", i.Name)
		}
		var to connection.Connection
		if to, credentials, err = readKubeconfig(*in.Kubeconfig); err != nil {
			return nil, err
		}
		if err := s.Hosts.permitProxy(ctx, i.Name, to); err != nil {
			return nil, err
		}
		if err := s.sameControlPlane(ctx, i, to); err != nil {
			return nil, err
		}
		if moves = !owns(i); moves {
			// What another client wrote stays its own, and stays as it is.
			i.Spec.KubeconfigSecretRef = secretOf(i.Name)
		}
	}
	// Everything is tried before anything is written.
	tried := i.DeepCopy()
	if err := s.patch(ctx, before, tried, true); err != nil {
		return nil, err
	}
	if credentials != nil {
		if err := s.replaceCredentials(ctx, i, credentials, true); err != nil {
			return nil, err
		}
	}
	found, err := s.preflight(ctx, before, i)
	if err != nil {
		return nil, err
	}
	p := s.payload(tried)
	if !in.DryRun {
		if err := s.change(ctx, before, i, credentials, moves); err != nil {
			return nil, err
		}
		p = s.begun(ctx, i, operation.KindUpdateInstance)
	}
	p.Checks = found
	return p, nil
}

// change writes a changed instance, and its new credentials if there are any; moves reports whether
// these belong in another Secret than before.
func (s *Service) change(ctx context.Context, before, i *v1alpha1.Instance, credentials []byte, moves bool) error {
	if moves {
		// What follows the instance looks there at once, and drops credentials that
		// work when there are none.
		if err := s.replaceCredentials(ctx, i, credentials, false); err != nil {
			return err
		}
		if err := s.patch(ctx, before, i, false); err != nil {
			ref := i.Spec.KubeconfigSecretRef
			return half(err, "the new credentials are in Secret %s/%s already, but the instance takes them from there only once it is changed", ref.Namespace, ref.Name)
		}
		return nil
	}
	if err := s.patch(ctx, before, i, false); err != nil || credentials == nil {
		return err
	}
	if err := s.replaceCredentials(ctx, i, credentials, false); err != nil {
		return apierror.At(apierror.Wrap(err, apierror.CodeOf(err),
			"the new credentials of instance %q could not be written, what else was asked for has been; send the kubeconfig again", i.Name), kubeconfigArgument)
	}
	return nil
}

// mayInstall asks for what createInstance asks for where a change has the operator run
// something else on the host cluster.
func (s *Service) mayInstall(ctx context.Context, before, i *v1alpha1.Instance) error {
	argument := ""
	switch {
	case !equality.Semantic.DeepEqual(before.Spec.Components, i.Spec.Components):
		argument = componentsArgument
	case before.Spec.KarmadaVersion != i.Spec.KarmadaVersion:
		argument = "input.karmadaVersion"
	}
	if argument == "" || i.Spec.Mode != v1alpha1.InstanceModeManaged {
		return nil
	}
	return s.Hosts.Rights.ChangeMembership(ctx, i.Spec.HostCluster, argument)
}

func (in *UpdateInput) apply(i *v1alpha1.Instance) error {
	if in.Labels != nil {
		labels, err := write.Map(in.Labels, "input.labels")
		if err != nil {
			return err
		}
		i.Labels = labels
	}
	if in.Alias != nil {
		i.Spec.Alias = *in.Alias
	}
	if in.KarmadaVersion != nil {
		i.Spec.KarmadaVersion = *in.KarmadaVersion
	}
	if in.DeletionPolicy != nil {
		i.Spec.DeletionPolicy = *in.DeletionPolicy
	}
	if in.Collect != nil {
		if i.Spec.Collect = in.Collect; len(in.Collect.OfInstance)+len(in.Collect.OfMembers) == 0 {
			i.Spec.Collect = nil
		}
	}
	if in.Components != nil {
		components, err := settings(in.Components)
		if err != nil {
			return err
		}
		i.Spec.Components = components
	}
	return nil
}

// settings are those of components for the Instance resource. It refuses arguments that the controllers would not pass on.
func settings(of *instance.Components) (*v1alpha1.InstanceComponents, error) {
	components, err := of.Settings(componentsArgument)
	if err != nil {
		return nil, err
	}
	if refused := extraargs.Refused(components); refused != nil {
		return nil, apierror.Invalid(componentsArgument+"."+string(refused.Component)+".extraArgs", "%s", refused.Message)
	}
	return components, nil
}

// based fails when the Instance is no longer at the version that a change is based on.
func based(i *v1alpha1.Instance, version *string) error {
	if version == nil || *version == i.ResourceVersion {
		return nil
	}
	return apierror.In(&apierror.Error{
		Code: apierror.CodeConflict, Argument: "input.resourceVersion", CurrentVersion: i.ResourceVersion,
		Message: "instance " + i.Name + " has changed since resourceVersion " + *version + ": read it again, and decide anew",
	}, i.Name)
}

// patch writes what differs, if anything does, and only when no other client wrote meanwhile.
func (s *Service) patch(ctx context.Context, before, i *v1alpha1.Instance, dryRun bool) error {
	if equality.Semantic.DeepEqual(before, i) {
		return nil
	}
	lock := client.MergeFromWithOptions(before.DeepCopy(), client.MergeFromWithOptimisticLock{})
	return translate(http.MethodPatch, i.Name, s.Global.Patch(ctx, i, lock, &client.PatchOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager}))
}
