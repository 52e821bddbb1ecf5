// Package credentials reads the Secrets that Instances and Clusters refer to,
// and returns which of them to look at again when a Secret changes.
//
// Of the global cluster's Secrets only the names are cached. The content is
// read when it is needed: the manager never holds Secrets that do not concern
// it, and what it acts on is never older than the event that woke it. What was
// read once is remembered, under the version of its Secret: an apiserver that is
// looked at every few seconds does not cost a read of the same Secret each time.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
)

// Reader reads credentials.
type Reader struct {
	// Secrets reads Secrets. It must not answer from a cache.
	Secrets client.Reader
	// Memory, when it is given, saves reading the same version of a Secret twice.
	Memory *Memory
	// Namespaces are those whose Secrets may be read; all when there are none.
	Namespaces []string
	// ProvenOnly has OfInstance, OfVirtual and OfRegistered refuse credentials that have
	// not been seen to lead to the instance's own control plane, or to the cluster that
	// was registered. Only the controllers that look whether they do work without it.
	ProvenOnly bool
}

// unproven is why credentials are not used that are there. It counts as
// connection.ErrMissing: there are none that may be used.
type unproven struct{ message string }

func (e *unproven) Error() string        { return e.message }
func (e *unproven) Is(target error) bool { return target == connection.ErrMissing }

// Unproven reports whether an error is about credentials that ProvenOnly refuses.
func Unproven(err error) bool {
	_, is := errors.AsType[*unproven](err)
	return is
}

// prove returns the connection when it may be used for the instance. One that is
// being deleted is looked at no more, and what was made in it has to be removed.
func (r Reader) prove(instance *v1alpha1.Instance, to connection.Connection) (connection.Connection, error) {
	foreign := instance.NotItsOwn()
	switch {
	case !r.ProvenOnly:
	case foreign != nil:
		return connection.Connection{}, &unproven{foreign.Message}
	case !instance.DeletionTimestamp.IsZero() || instance.ProvenBy(to.Fingerprint()):
	default:
		return connection.Connection{}, &unproven{fmt.Sprintf("it is not known yet which control plane the credentials of instance %q lead to, see its condition %s",
			instance.Name, v1alpha1.ConditionIdentified)}
	}
	return to, nil
}

// OfInstance is how the instance is reached. The error is connection.ErrMissing
// or connection.ErrInvalid when a person has to do something.
func (r Reader) OfInstance(ctx context.Context, instance *v1alpha1.Instance) (connection.Connection, error) {
	ref := instance.CredentialsRef()
	if ref == nil {
		return connection.Connection{}, fmt.Errorf("%w: the instance has not been given any yet", connection.ErrMissing)
	}
	to, err := r.read(ctx, ref.NamespacedName(), connection.Source{KubeconfigKey: ref.Key})
	if err != nil {
		return to, err
	}
	return r.prove(instance, to)
}

// OfVirtual is how the virtual Cluster of an instance is reached, with the same
// errors as OfInstance.
func (r Reader) OfVirtual(ctx context.Context, cluster *v1alpha1.Cluster, instance *v1alpha1.Instance) (connection.Connection, error) {
	to, err := r.OfCluster(ctx, cluster)
	if err != nil {
		return to, err
	}
	return r.prove(instance, to)
}

// OfRegistered is how a Physical cluster is reached, provided that this is the cluster
// that was registered, with the same errors as OfInstance.
func (r Reader) OfRegistered(ctx context.Context, cluster *v1alpha1.Cluster) (connection.Connection, error) {
	to, err := r.OfCluster(ctx, cluster)
	if err != nil || !r.ProvenOnly || cluster.ProvenBy(to.Fingerprint()) {
		return to, err
	}
	return connection.Connection{}, &unproven{fmt.Sprintf(
		"the endpoint and the credentials of cluster %q have not been seen to lead to the cluster that was registered, see its condition %s",
		cluster.Name, v1alpha1.ConditionIdentified)}
}

// OfCluster returns the connection to the endpoint of a cluster, whichever cluster is there, with
// the same errors as OfInstance. It is for callers that check the identity themselves.
func (r Reader) OfCluster(ctx context.Context, cluster *v1alpha1.Cluster) (connection.Connection, error) {
	ref := cluster.Spec.CredentialsSecretRef
	if ref == nil {
		return connection.Connection{}, fmt.Errorf("%w: spec.credentialsSecretRef is not set", connection.ErrMissing)
	}
	return r.read(ctx, ref.NamespacedName(), connection.Source{
		KubeconfigKey: ref.Key,
		Endpoint:      cluster.Spec.APIEndpoint,
		ProxyURL:      cluster.Spec.ProxyURL,
	})
}

// MayRead reports whether Secrets may be read in a namespace.
func (r Reader) MayRead(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

func (r Reader) read(ctx context.Context, name types.NamespacedName, source connection.Source) (connection.Connection, error) {
	if !r.MayRead(name.Namespace) {
		return connection.Connection{}, fmt.Errorf("%w: the Secret %s is in a namespace whose Secrets are not read, which are %s (--credentials-namespaces)",
			connection.ErrMissing, name, strings.Join(r.Namespaces, ", "))
	}
	version := r.Memory.version(ctx, name)
	known, data := r.Memory.recall(name, source, version)
	if known != nil {
		return known.connection, known.err
	}
	if data == nil {
		secret, err := r.Memory.readOnce(ctx, name, version, func() (*corev1.Secret, error) {
			secret := &corev1.Secret{}
			return secret, r.Secrets.Get(ctx, name, secret)
		})
		if err != nil {
			if apierrors.IsNotFound(err) {
				r.Memory.forget(name)
				return connection.Connection{}, fmt.Errorf("%w: there is no Secret %s", connection.ErrMissing, name)
			}
			return connection.Connection{}, fmt.Errorf("read the Secret %s: %w", name, err)
		}
		version, data = secret.ResourceVersion, secret.Data
	}
	found, err := connection.Parse(data, source)
	if err != nil {
		err = fmt.Errorf("the Secret %s: %w", name, err)
		found = connection.Connection{}
	}
	r.Memory.remember(name, version, data, source, parsed{connection: found, err: err})
	return found, err
}

// Metadata is a Secret as the caches know it: without its content.
func Metadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

// StripMetadata keeps the part of a Secret's metadata that wakes a controller. It removes the
// annotation of `kubectl apply`, which has a copy of the whole content.
func StripMetadata(object any) (any, error) {
	if secret, ok := object.(*metav1.PartialObjectMetadata); ok {
		secret.ObjectMeta = metav1.ObjectMeta{
			Namespace:       secret.Namespace,
			Name:            secret.Name,
			UID:             secret.UID,
			ResourceVersion: secret.ResourceVersion,
		}
	}
	return object, nil
}
