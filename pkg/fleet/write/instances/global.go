package instances

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

var kind = write.Kind{GroupVersionResource: v1alpha1.InstanceResource, Kind: "Instance"}

// undoWithin bounds taking back what was written, also when the caller has left.
const undoWithin = 10 * time.Second

// secretOf is where the credentials of an instance are kept that came through a
// mutation.
func secretOf(name string) *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{
		Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.VirtualClusterName(name) + "-kubeconfig",
	}}
}

// readKubeconfig keeps of a kubeconfig what is needed to reach its current cluster
// as its current user. What else it holds is not stored, and nothing of it is in
// the error.
func readKubeconfig(text string) (to connection.Connection, stored []byte, err error) {
	to, err = connection.Parse(map[string][]byte{v1alpha1.KubeconfigSecretKey: []byte(text)}, connection.Source{})
	if err != nil {
		return to, nil, &apierror.Error{Code: apierror.CodeInvalid, Argument: kubeconfigArgument, Message: err.Error()}
	}
	stored, err = to.Kubeconfig()
	return to, stored, err
}

func (s *Service) create(ctx context.Context, i *v1alpha1.Instance, dryRun bool) error {
	return translate(http.MethodPost, i.Name, s.Global.Create(ctx, i, &client.CreateOptions{
		DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager,
	}))
}

// createCredentials writes the Secret of an instance. It goes with the Instance.
func (s *Service) createCredentials(ctx context.Context, i *v1alpha1.Instance, kubeconfig []byte, dryRun bool) error {
	ref := secretOf(i.Name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, Labels: map[string]string{
			v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue, v1alpha1.InstanceLabel: i.Name,
		}},
		Data: map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig},
	}
	if i.UID != "" {
		secret.Labels[v1alpha1.OwnerUIDLabel] = string(i.UID)
		owner := metav1.NewControllerRef(i, v1alpha1.GroupVersion.WithKind(kind.Kind))
		// The Instance need not wait for its Secret, and setting this requires the permission to
		// update the finalizers of Instances.
		owner.BlockOwnerDeletion = nil
		secret.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	err := s.Global.Create(ctx, secret, &client.CreateOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return apierror.At(apierror.Wrap(err, apierror.CodeAlreadyExists,
			"Secret %s/%s exists, and is not this instance's: remove it, or choose another name for the instance", ref.Namespace, ref.Name), write.InstanceArgument)
	}
	return translateSecret(err)
}

// replaceCredentials writes new credentials into the Secret of an instance, which
// has to be its own.
func (s *Service) replaceCredentials(ctx context.Context, i *v1alpha1.Instance, kubeconfig []byte, dryRun bool) error {
	var secret corev1.Secret
	ref := secretOf(i.Name)
	err := s.Global.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return s.createCredentials(ctx, i, kubeconfig, dryRun)
	case err != nil:
		return translateSecret(err)
	case secret.Labels[v1alpha1.OwnerUIDLabel] != string(i.UID):
		return apierror.At(apierror.New(apierror.CodeConflict, "Secret %s/%s is not this instance's", ref.Namespace, ref.Name), kubeconfigArgument)
	}
	secret.Data = map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig}
	return translateSecret(s.Global.Update(ctx, &secret, &client.UpdateOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager}))
}

// owns reports whether the credentials of an instance are in the Secret that mutations write.
func owns(i *v1alpha1.Instance) bool {
	ref, own := i.Spec.KubeconfigSecretRef, secretOf(i.Name)
	return ref != nil && ref.Name == own.Name && (ref.Namespace == "" || ref.Namespace == own.Namespace) &&
		(ref.Key == "" || ref.Key == v1alpha1.KubeconfigSecretKey)
}

// undo deletes an Instance whose credentials could not be written, and says so.
func (s *Service) undo(ctx context.Context, i *v1alpha1.Instance, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	err := s.Global.Delete(ctx, i, client.Preconditions{UID: &i.UID})
	if client.IgnoreNotFound(err) == nil {
		return cause
	}
	return apierror.Wrap(errors.Join(cause, err), apierror.CodeOf(cause),
		"the Instance was written, its credentials were not, and it could not be removed again: delete instance %q, then try again", i.Name)
}

// await waits until later reads are answered with what was written.
func (s *Service) await(ctx context.Context, written *v1alpha1.Instance) {
	write.Await(ctx, s.Watched, written, &v1alpha1.Instance{})
}

// translate says what became of a request about an Instance in the words of the inputs.
func translate(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return apierror.At(apierror.NotFound(kind.Kind, name), write.InstanceArgument)
	case apierrors.IsConflict(err):
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "instance %q has changed meanwhile; read it again, and decide anew", name), "input.resourceVersion")
	case apierrors.IsAlreadyExists(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return write.Translate("", err, kind, verb, "", name, paths)
	}
	return write.Unanswered(err, "the instance")
}

// translateSecret keeps what the global cluster reports about a Secret to the log: it may quote it.
func translateSecret(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "the credentials have changed meanwhile; try again"), kubeconfigArgument)
	}
	return write.Unanswered(err, "the instance")
}

// half is the error of a change of which a part was written, and says which.
func half(err error, format string, args ...any) error {
	e, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		e = apierror.Wrap(err, apierror.CodeTimeout, "this took too long; look at the instance before you try again")
	}
	told := *e
	told.Message += "; " + fmt.Sprintf(format, args...)
	return &told
}
