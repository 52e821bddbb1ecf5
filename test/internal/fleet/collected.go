package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

// indexNamespace is the namespace that Clusterpedia runs in, and reads Secrets from.
const indexNamespace = "clusterpedia-system"

// CollectedWith returns the kubeconfig with which the index collects a cluster.
func CollectedWith(ctx context.Context, global client.Client, cluster string) ([]byte, error) {
	pedia := &pediav1alpha2.PediaCluster{}
	if err := global.Get(ctx, client.ObjectKey{Name: cluster}, pedia); err != nil {
		return nil, err
	}
	if pedia.Spec.AuthenticationFrom == nil || pedia.Spec.AuthenticationFrom.KubeConfig == nil {
		return nil, fmt.Errorf("PediaCluster %s refers to no Secret", cluster)
	}
	from, secret := pedia.Spec.AuthenticationFrom.KubeConfig, &corev1.Secret{}
	if err := global.Get(ctx, client.ObjectKey{Namespace: indexNamespace, Name: from.Name}, secret); err != nil {
		return nil, err
	}
	return secret.Data[from.Key], nil
}
