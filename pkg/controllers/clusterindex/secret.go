package clusterindex

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

const (
	// secretKey is the key of the kubeconfig in the Secret; see lookKey for the other value.
	secretKey = "kubeconfig"
	// fingerprintAnnotation holds, on a PediaCluster, the fingerprint of the credentials in
	// its Secret.
	fingerprintAnnotation = v1alpha1.GroupName + "/credentials-fingerprint"
	// retryNamespace is when to look again for a namespace that does not exist.
	retryNamespace = 30 * time.Second
)

// secretName returns the name of the Secret with which a cluster is collected.
func secretName(cluster string) string { return "kairship-" + cluster }

// storeCredentials stores the Secret that the PediaCluster refers to, unless the stored
// PediaCluster, nil for none, has an annotation that this was done. Clusterpedia watches
// the Secret, and begins anew when it changes. Kairship does not: Clusterpedia reports in
// the PediaCluster that it cannot use a Secret, which is then stored again.
func (r *Reconciler) storeCredentials(ctx context.Context, s *scope, pedia *pediav1alpha2.PediaCluster) error {
	if pedia != nil && pedia.Annotations[fingerprintAnnotation] == s.to.Fingerprint() &&
		!meta.IsStatusConditionFalse(pedia.Status.Conditions, pediav1alpha2.ValidatedCondition) {
		return nil
	}
	kubeconfig, err := s.to.Kubeconfig()
	if err != nil {
		return fmt.Errorf("make the kubeconfig of cluster %q: %w", s.cluster.Name, err)
	}
	wanted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: secretName(s.cluster.Name)},
		Data:       map[string][]byte{secretKey: kubeconfig},
	}
	s.owner.Mark(wanted)
	stored := &corev1.Secret{}
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	switch {
	case apierrors.IsNotFound(err):
		return r.createSecret(ctx, wanted)
	case err != nil:
		return fmt.Errorf("read Secret %s/%s: %w", wanted.Namespace, wanted.Name, err)
	case !s.owner.Owns(stored):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNameTaken, s.owner.Taken("Secret", stored))}
	}
	updated := stored.DeepCopy()
	s.owner.Mark(updated)
	updated.Data = wanted.Data
	if equality.Semantic.DeepEqual(stored, updated) {
		return nil
	}
	if err := r.Client.Patch(ctx, updated, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update Secret %s/%s: %w", updated.Namespace, updated.Name, err)
	}
	return nil
}

func (r *Reconciler) createSecret(ctx context.Context, wanted *corev1.Secret) error {
	err := r.Client.Create(ctx, wanted)
	switch {
	case apierrors.IsNotFound(err): // of the namespace
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsMissing, fmt.Sprintf(
			"There is no namespace %q for the credentials that Clusterpedia collects with. Set --index-namespace to the one that its clustersynchro-manager runs in.",
			wanted.Namespace)), Retry: retryNamespace}
	case err != nil:
		return fmt.Errorf("create Secret %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	return nil
}

// removeSecret deletes the Secret of a cluster that is not collected any more.
func (r *Reconciler) removeSecret(ctx context.Context, s *scope) error {
	stored := &corev1.Secret{}
	name := client.ObjectKey{Namespace: r.Namespace, Name: secretName(s.cluster.Name)}
	err := r.Live.Get(ctx, name, stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", name, err)
	case !s.owner.Owns(stored):
		return nil
	}
	if err := r.Client.Delete(ctx, stored, client.Preconditions{UID: &stored.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s: %w", name, err)
	}
	return nil
}
