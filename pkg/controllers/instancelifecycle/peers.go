package instancelifecycle

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// publishing has the names of pods resolved that are not ready.
const publishing = `{"spec":{"publishNotReadyAddresses":true}}`

// publishPeers has the members of etcd find each other before they are ready: a member is ready once most of them
// have found each other, and the Service that the operator makes for that has the ready ones only, so that
// several members never start. The operator undoes it with each change, so it is looked at while it works.
func publishPeers(ctx context.Context, kube kubernetes.Interface, namespace string, sets []appsv1.StatefulSet) {
	for i := range sets {
		if !severalMembers(&sets[i]) {
			continue
		}
		services := kube.CoreV1().Services(namespace)
		service, err := services.Get(ctx, sets[i].Spec.ServiceName, metav1.GetOptions{})
		if err != nil || service.Spec.PublishNotReadyAddresses {
			continue // It is looked at again in some seconds.
		}
		_, err = services.Patch(ctx, service.Name, types.MergePatchType, []byte(publishing), metav1.PatchOptions{FieldManager: "kairship"})
		if err != nil {
			log.FromContext(ctx).Info("the members of etcd cannot find each other: its Service on the host cannot be changed", "service", service.Name, "namespace", namespace, "error", err.Error())
		}
	}
}

// severalMembers reports whether the set has more than one replica and a Service for their names.
func severalMembers(set *appsv1.StatefulSet) bool {
	return set.Spec.ServiceName != "" && set.Spec.Replicas != nil && *set.Spec.Replicas > 1
}
