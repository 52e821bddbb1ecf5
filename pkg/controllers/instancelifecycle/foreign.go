package instancelifecycle

import (
	"context"
	"fmt"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"github.com/karmada-io/karmada/operator/pkg/constants"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// unknownSecrets are those of a namespace whose Secrets Kairship may not read.
const unknownSecrets = "Secrets, for all Kairship may know"

// foreignObjects are things in the namespace of a Karmada that is uninstalled which are
// neither the operator's nor Kairship's, and which would go with the namespace. Only
// Karmadas and Secrets are looked for: Kairship may read no others there.
func (r *Reconciler) foreignObjects(ctx context.Context, s *scope, namespace string) ([]string, error) {
	var found []string
	var karmadas operatorv1alpha1.KarmadaList
	if err := r.Live.List(ctx, &karmadas, client.InNamespace(namespace)); err != nil && !unserved(err) {
		return nil, fmt.Errorf("list the Karmadas of namespace %q: %w", namespace, err)
	}
	for i := range karmadas.Items {
		found = append(found, "Karmada "+karmadas.Items[i].Name)
	}
	if !r.Credentials.MayRead(namespace) {
		return append(found, unknownSecrets), nil
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.Live.List(ctx, secrets, client.InNamespace(namespace))
	switch {
	case apierrors.IsForbidden(err):
		return append(found, unknownSecrets), nil
	case err != nil:
		return nil, fmt.Errorf("list the Secrets of namespace %q: %w", namespace, err)
	}
	for i := range secrets.Items {
		if !expected(&secrets.Items[i], s.instance) {
			found = append(found, "Secret "+secrets.Items[i].Name)
		}
	}
	return found, nil
}

// expected reports whether a Secret in the namespace of an instance's Karmada is there
// regardless: the operator's, Kairship's, or the token that clusters before Kubernetes 1.24
// make in every namespace.
func expected(secret *metav1.PartialObjectMetadata, instance *v1alpha1.Instance) bool {
	switch secret.Labels[v1alpha1.ManagedByLabel] {
	case v1alpha1.ManagedByValue, constants.KarmadaOperator:
		return true
	}
	if ref := instance.Status.KubeconfigSecretRef; ref != nil && ref.NamespacedName() == client.ObjectKeyFromObject(secret) {
		return true
	}
	return secret.Annotations[corev1.ServiceAccountNameKey] == "default"
}
