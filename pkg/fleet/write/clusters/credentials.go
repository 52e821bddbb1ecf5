package clusters

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Credentials are those of a cluster as inputs have them: a kubeconfig, or a token with the endpoint.
type Credentials struct {
	Kubeconfig           *string
	Token                *string
	CertificateAuthority *string
	APIEndpoint          *string
}

// given reports whether there are any.
func (c *Credentials) given() bool {
	return c.Kubeconfig != nil || c.Token != nil || c.CertificateAuthority != nil || c.APIEndpoint != nil
}

// argument is the input that holds them.
func (c *Credentials) argument() string {
	if c.Token != nil {
		return "input.token"
	}
	return "input.kubeconfig"
}

// read returns how the cluster is reached, and what is stored of it. Nothing of the credentials is in its error.
func (c *Credentials) read() (to connection.Connection, stored []byte, err error) {
	data, source := map[string][]byte{}, connection.Source{}
	switch {
	case (c.Kubeconfig == nil) == (c.Token == nil):
		return to, nil, apierror.Invalid(c.argument(), "give either a kubeconfig, or a token with apiEndpoint")
	case c.Kubeconfig != nil && c.CertificateAuthority != nil:
		return to, nil, apierror.Invalid("input.certificateAuthority", "the kubeconfig has the CA: leave this out, or send a token instead of the kubeconfig")
	case c.Token != nil && c.APIEndpoint == nil:
		return to, nil, apierror.Invalid("input.apiEndpoint", "a token is for one API server: give its URL, such as https://10.0.0.1:6443")
	case c.Kubeconfig != nil:
		data[v1alpha1.KubeconfigSecretKey] = []byte(*c.Kubeconfig)
	default:
		data[v1alpha1.TokenSecretKey], data[v1alpha1.ServerSecretKey] = []byte(*c.Token), []byte(*c.APIEndpoint)
		if c.CertificateAuthority != nil {
			data[v1alpha1.CABundleSecretKey] = []byte(*c.CertificateAuthority)
		}
	}
	if c.APIEndpoint != nil {
		source.Endpoint = *c.APIEndpoint
	}
	if to, err = connection.Parse(data, source); err != nil {
		return to, nil, &apierror.Error{Code: apierror.CodeInvalid, Argument: c.argument(), Message: err.Error()}
	}
	if to.ProxyURL != "" {
		// The proxy chooses the address, so Kairship could not judge it.
		return to, nil, apierror.Invalid(c.argument(), "the kubeconfig has a proxy-url: a cluster behind a proxy is registered with kubectl, by users who may write Clusters")
	}
	stored, err = to.Kubeconfig()
	return to, stored, err
}

// secretOf is where the credentials of a cluster are kept that came through a mutation.
func secretOf(name string) *v1alpha1.ClusterCredentialsReference {
	return &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{
		Namespace: v1alpha1.SystemNamespace, Name: "cluster-" + name + "-kubeconfig",
	}}
}

// owns reports whether the credentials of a cluster are in the Secret that mutations write.
func owns(c *v1alpha1.Cluster) bool {
	ref, own := c.Spec.CredentialsSecretRef, secretOf(c.Name)
	return ref != nil && ref.Name == own.Name && (ref.Namespace == "" || ref.Namespace == own.Namespace) && (ref.Key == "" || ref.Key == v1alpha1.KubeconfigSecretKey)
}

// store writes the credentials of a cluster into its Secret, which goes with the Cluster. One that belongs to another is
// a conflict.
func (s *Service) store(ctx context.Context, c *v1alpha1.Cluster, kubeconfig []byte, dryRun bool) error {
	ref := secretOf(c.Name)
	var secret corev1.Secret
	err := s.Global.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return s.create(ctx, c, kubeconfig, dryRun)
	case err != nil:
		return write.Unanswered(err, theCluster)
	case c.UID == "" || secret.Labels[v1alpha1.OwnerUIDLabel] != string(c.UID):
		return apierror.At(apierror.New(apierror.CodeConflict, "Secret %s/%s exists, and is not this cluster's: remove it, or choose another name for the cluster", ref.Namespace, ref.Name), clusterArgument)
	}
	secret.Data = map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig}
	err = s.Global.Update(ctx, &secret, &client.UpdateOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager})
	if apierrors.IsConflict(err) {
		return apierror.At(apierror.Wrap(err, apierror.CodeConflict, "the credentials have changed meanwhile; try again"), clusterArgument)
	}
	return write.Unanswered(err, theCluster)
}

// create makes the Secret of a cluster.
func (s *Service) create(ctx context.Context, c *v1alpha1.Cluster, kubeconfig []byte, dryRun bool) error {
	ref := secretOf(c.Name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue}},
		Data:       map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig},
	}
	if c.UID != "" {
		secret.Labels[v1alpha1.OwnerUIDLabel] = string(c.UID)
		owner := metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind(kind.Kind))
		// The Cluster need not wait for its Secret, and setting this takes the right to update the finalizers of Clusters.
		owner.BlockOwnerDeletion = nil
		secret.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return write.Unanswered(s.Global.Create(ctx, secret, &client.CreateOptions{DryRun: write.DryRun(dryRun), FieldManager: write.FieldManager}), theCluster)
}
