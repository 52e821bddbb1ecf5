// Package instances implements the mutations of instances themselves: it registers an existing
// Karmada, requests a new one from the operator, and changes and deletes either.
//
// Unlike all other objects, Kairship writes an Instance with its own identity and not as the user.
// A user who may write the stored object can have it read with the credentials of any user, so no
// role permits that; roles permit the virtual resource instances/management instead, and this
// package decides what it allows.
package instances

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Service registers, creates, changes and deletes instances.
type Service struct {
	Access *access.Access
	// Global reads from and writes to the global cluster itself, as Kairship.
	Global client.Client
	// Watched is the watch on the global cluster that later reads are answered from.
	Watched client.Reader
	// Visible are the instances that the caller may see.
	Visible *instance.Service
	// Versions are those of Karmada that can be installed; any when empty.
	Versions []string
	// Hosts reports whether a user may have something installed on a cluster.
	Hosts Hosts
	// Identify asks a control plane which one it is: for the UID of its namespace
	// kube-system.
	Identify func(context.Context, connection.Connection) (string, error)
	// Operations makes the IDs under which the progress of a new instance is followed;
	// nil for none.
	Operations *operation.Service
	Now        func() time.Time
}

// Payload is an instance that was written.
type Payload struct {
	Instance *instance.Instance
	// Checks are what was found out before an upgrade.
	Checks []Check
	// Operation is the ID under which the progress is followed; nil for a dry run.
	Operation *string
	// ConsistencyToken is always nil: instances are watched, not indexed.
	ConsistencyToken *string
}

// RegisterInput is the input of registerInstance.
type RegisterInput struct {
	Instance       string
	Kubeconfig     string
	Alias          *string
	Labels         []object.Pair
	KarmadaVersion *string
	DryRun         bool
}

// CreateInput is the input of createInstance.
type CreateInput struct {
	Instance       string
	HostCluster    string
	KarmadaVersion *string
	Components     *instance.Components
	DeletionPolicy *v1alpha1.DeletionPolicy
	Alias          *string
	Labels         []object.Pair
	DryRun         bool
}

// The inputs that more than one mutation has.
const (
	kubeconfigArgument = "input.kubeconfig"
	hostArgument       = "input.hostCluster"
	componentsArgument = "input.components"
)

// paths are the inputs that the fields of an Instance come from.
var paths = write.Paths{
	"": "input", "metadata": write.InstanceArgument + "!", "metadata.labels": "input.labels!", "metadata.resourceVersion": "input.resourceVersion!",
	"spec": "input", "spec.hostCluster": hostArgument + "!", "spec.karmadaVersion": "input.karmadaVersion!", "spec.alias": "input.alias!",
	"spec.components": componentsArgument, "spec.deletionPolicy": "input.deletionPolicy!", "spec.kubeconfigSecretRef": kubeconfigArgument + "!",
}

// Register makes an External instance of a Karmada that exists.
func (s *Service) Register(ctx context.Context, in RegisterInput) (*Payload, error) {
	if err := s.mayCreate(ctx, in.Instance); err != nil {
		return nil, err
	}
	to, credentials, err := readKubeconfig(in.Kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := s.Hosts.permitProxy(ctx, in.Instance, to); err != nil {
		return nil, err
	}
	i, err := described(in.Instance, in.Alias, in.Labels, in.KarmadaVersion)
	if err != nil {
		return nil, err
	}
	i.Spec.Mode = v1alpha1.InstanceModeExternal
	i.Spec.KubeconfigSecretRef = secretOf(in.Instance)
	// Both are tried before either is written; the name is taken by the Instance.
	if err := s.create(ctx, i.DeepCopy(), true); err != nil {
		return nil, err
	}
	if err := s.createCredentials(ctx, i, credentials, true); err != nil {
		return nil, err
	}
	id, err := s.identify(ctx, to)
	if err != nil {
		return nil, err
	}
	if err := s.unregistered(ctx, i, id); err != nil {
		return nil, err
	}
	if in.DryRun {
		return s.payload(i), nil
	}
	if err := s.create(ctx, i, false); err != nil {
		return nil, err
	}
	if err := s.createCredentials(ctx, i, credentials, false); err != nil {
		return nil, s.undo(ctx, i, err)
	}
	return s.begun(ctx, i, operation.KindCreateInstance), nil
}

// begun is the payload of an instance that was just made or changed.
func (s *Service) begun(ctx context.Context, i *v1alpha1.Instance, kind operation.Kind) *Payload {
	s.await(ctx, i)
	p := s.payload(i)
	p.Operation = s.Operations.Begin(ctx, operation.Operation{Kind: kind, Instance: i.Name, Version: i.ResourceVersion})
	return p
}

// Create asks for a Managed instance to be installed.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Payload, error) {
	if err := s.mayCreate(ctx, in.Instance); err != nil {
		return nil, err
	}
	if err := write.CheckName(in.HostCluster, hostArgument); err != nil {
		return nil, err
	}
	if err := s.Hosts.permit(ctx, in.HostCluster); err != nil {
		return nil, err
	}
	i, err := described(in.Instance, in.Alias, in.Labels, in.KarmadaVersion)
	if err != nil {
		return nil, err
	}
	i.Spec.Mode, i.Spec.HostCluster = v1alpha1.InstanceModeManaged, in.HostCluster
	if i.Spec.Components, err = settings(in.Components); err != nil {
		return nil, err
	}
	if err := s.installable(i.Spec.KarmadaVersion); err != nil {
		return nil, err
	}
	if in.DeletionPolicy != nil {
		i.Spec.DeletionPolicy = *in.DeletionPolicy
	}
	if err := s.create(ctx, i, in.DryRun); err != nil {
		return nil, err
	}
	if in.DryRun {
		return s.payload(i), nil
	}
	return s.begun(ctx, i, operation.KindCreateInstance), nil
}

// described is an Instance with what every one can have.
func described(name string, alias *string, labels []object.Pair, karmadaVersion *string) (*v1alpha1.Instance, error) {
	if err := write.CheckName(name, write.InstanceArgument); err != nil {
		return nil, err
	}
	pairs, err := write.Map(labels, "input.labels")
	if err != nil {
		return nil, err
	}
	i := &v1alpha1.Instance{}
	i.Name, i.Labels = name, pairs
	if alias != nil {
		i.Spec.Alias = *alias
	}
	if karmadaVersion != nil {
		i.Spec.KarmadaVersion = *karmadaVersion
	}
	return i, nil
}

// mayCreate refuses with the same message whether or not an instance of that name exists, because
// the caller may not be allowed to know.
func (s *Service) mayCreate(ctx context.Context, name string) error {
	grant, visible, err := s.Access.Instance(ctx, name)
	switch {
	case err != nil:
		return err
	case !visible || !grant.Can(authz.VerbCreateInstance, ""):
		audit.From(ctx).Refuse(name)
		return apierror.At(apierror.New(apierror.CodeForbidden,
			"you may not add an instance %q: it takes get on instances and create on instances/management of kairship.io, for this name or for all", name), write.InstanceArgument)
	}
	return nil
}

// find reads an instance that the caller may do something with, from the global
// cluster itself.
func (s *Service) find(ctx context.Context, name string, verb authz.Verb, what string) (*v1alpha1.Instance, error) {
	missing := apierror.At(apierror.NotFound("Instance", name), write.InstanceArgument)
	if err := write.CheckName(name, write.InstanceArgument); err != nil {
		return nil, missing
	}
	grant, visible, err := s.Access.Instance(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case !visible:
		return nil, missing
	case !grant.Can(verb, ""):
		audit.From(ctx).Refuse(name)
		return nil, apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you %s instance %q: that is for its admins", what, name), name)
	}
	var i v1alpha1.Instance
	if err := s.Global.Get(ctx, client.ObjectKey{Name: name}, &i); err != nil {
		return nil, translate("get", name, err)
	}
	return &i, nil
}

func (s *Service) payload(i *v1alpha1.Instance) *Payload {
	at, lag := s.Now(), 0.0
	return &Payload{Instance: instance.New(i, freshness.Freshness{Source: freshness.SourceLive, ObservedAt: &at, Lag: &lag})}
}
