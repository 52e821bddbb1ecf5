package instances

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/object"
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
	Kubeconfig      *string
	DryRun          bool
}

// DeleteInput is the input of deleteInstance.
type DeleteInput struct {
	Instance        string
	ResourceVersion *string
	DeletionPolicy  *v1alpha1.DeletionPolicy
	Force           bool
	DryRun          bool
}

// DeletePayload is what became of a deletion.
type DeletePayload struct {
	Payload
	// Deleted tells that the Instance is gone; otherwise what was made for it is
	// being removed.
	Deleted bool
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
	var credentials []byte
	if in.Kubeconfig != nil {
		if i.Spec.Mode != v1alpha1.InstanceModeExternal {
			return nil, apierror.Invalid(kubeconfigArgument, "instance %q is Managed: its credentials come from its installation", i.Name)
		}
		if credentials, err = readKubeconfig(*in.Kubeconfig); err != nil {
			return nil, err
		}
		if !owns(i) {
			// What somebody else wrote stays theirs, and stays as it is.
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
	if in.DryRun {
		return s.payload(tried), nil
	}
	if err := s.patch(ctx, before, i, false); err != nil {
		return nil, err
	}
	if credentials != nil {
		if err := s.replaceCredentials(ctx, i, credentials, false); err != nil {
			return nil, apierror.At(apierror.Wrap(err, apierror.CodeOf(err),
				"the new credentials of instance %q could not be written, what else was asked for has been; send the kubeconfig again", i.Name), kubeconfigArgument)
		}
	}
	s.await(ctx, i)
	return s.payload(i), nil
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
	if in.Components != nil {
		components, err := in.Components.Settings(componentsArgument)
		if err != nil {
			return err
		}
		i.Spec.Components = components
	}
	return nil
}

// attempts is how often an instance is marked for its deletion when something
// else came between: controllers write its status at any time.
const attempts = 10

// Delete has an instance let go: Kairship forgets it, and, where that is the
// policy, its Karmada is uninstalled.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	for try := 1; ; try++ {
		i, err := s.mark(ctx, in)
		switch {
		case in.ResourceVersion == nil && try < attempts && apierror.Is(err, apierror.CodeConflict) && apierrors.IsConflict(err):
			continue
		case err != nil:
			return nil, err
		case in.DryRun:
			return &DeletePayload{Payload: *s.payload(i)}, nil
		}
		if i.DeletionTimestamp == nil {
			if err := s.Global.Delete(ctx, i, client.Preconditions{UID: &i.UID}); client.IgnoreNotFound(err) != nil {
				return nil, translate(http.MethodDelete, i.Name, err)
			}
		}
		return s.deleted(ctx, i)
	}
}

// mark finds the Instance that may be deleted, and writes into it how.
func (s *Service) mark(ctx context.Context, in DeleteInput) (*v1alpha1.Instance, error) {
	i, err := s.find(ctx, in.Instance, authz.VerbDeleteInstance, "delete")
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	if err := based(i, in.ResourceVersion); err != nil {
		return nil, err
	}
	before := i.DeepCopy()
	if in.DeletionPolicy != nil {
		i.Spec.DeletionPolicy = *in.DeletionPolicy
	}
	if in.Force {
		if i.Annotations == nil {
			i.Annotations = map[string]string{}
		}
		i.Annotations[v1alpha1.ForceDeleteAnnotation] = "true"
	} else if err := s.unused(ctx, i); err != nil {
		return nil, err
	}
	if err := s.patch(ctx, before, i, in.DryRun); err != nil {
		return nil, err
	}
	return i, nil
}

// deleted reads what became of an Instance.
func (s *Service) deleted(ctx context.Context, i *v1alpha1.Instance) (*DeletePayload, error) {
	var now v1alpha1.Instance
	err := s.Global.Get(ctx, client.ObjectKeyFromObject(i), &now)
	if client.IgnoreNotFound(err) != nil {
		return nil, translate(http.MethodGet, i.Name, err)
	}
	if gone := err != nil || now.UID != i.UID; gone {
		stamp := metav1.NewTime(s.Now())
		i.DeletionTimestamp = &stamp
		s.await(ctx, i)
		return &DeletePayload{Deleted: true}, nil
	}
	s.await(ctx, &now)
	return &DeletePayload{Payload: *s.payload(&now)}, nil
}

// unused refuses while clusters are joined. The controller refuses it too; here
// it is known before anything is written.
func (s *Service) unused(ctx context.Context, i *v1alpha1.Instance) error {
	var all v1alpha1.ClusterList
	if err := s.Watched.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return unanswered(err)
	}
	var joined []string
	for n := range all.Items {
		if all.Items[n].Holds(i.Name) {
			joined = append(joined, all.Items[n].Name)
		}
	}
	if len(joined) == 0 {
		return nil
	}
	slices.Sort(joined)
	return apierror.In(apierror.At(apierror.New(apierror.CodeConflict,
		"clusters are joined to instance %q: %s. Have them leave first (unjoinCluster), or set force to leave them as they are", i.Name, enumerate(joined)), "input.force"), i.Name)
}

// mostNamed bounds how many names an error enumerates.
const mostNamed = 20

func enumerate(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNamed], ", ") + " and others"
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

// patch writes what differs, if anything does, and only when nobody else wrote meanwhile.
func (s *Service) patch(ctx context.Context, before, i *v1alpha1.Instance, dryRun bool) error {
	if equality.Semantic.DeepEqual(before, i) {
		return nil
	}
	lock := client.MergeFromWithOptions(before.DeepCopy(), client.MergeFromWithOptimisticLock{})
	return translate(http.MethodPatch, i.Name, s.Global.Patch(ctx, i, lock, &client.PatchOptions{DryRun: dry(dryRun), FieldManager: write.FieldManager}))
}
