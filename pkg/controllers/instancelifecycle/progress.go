package instancelifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// progressBegins begins the sentence about the host cluster.
const progressBegins = "So far"

// progress describes the objects of the instance in the host cluster, because the operator itself
// reports only that it is working. If they can't be read, it returns nothing.
func (r *Reconciler) progress(ctx context.Context, s *scope) string {
	kube := r.hostClient(ctx, s)
	if kube == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	namespace := conversion.Namespace(s.instance.Name)
	of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=karmada-operator"}
	sets, err := kube.AppsV1().StatefulSets(namespace).List(ctx, of)
	if err != nil {
		return fmt.Sprintf("%s it is unknown what runs on cluster %q, which does not answer.", progressBegins, s.cluster.Name)
	}
	deployments, err := kube.AppsV1().Deployments(namespace).List(ctx, of)
	if err != nil {
		return fmt.Sprintf("%s it is unknown what runs on cluster %q, which does not answer.", progressBegins, s.cluster.Name)
	}
	publishPeers(ctx, kube, namespace, sets.Items)
	told := soFar(s.cluster.Name, s.instance.Name, sets.Items, deployments.Items)
	// Credentials that may do what an installation needs may not be permitted to read these.
	pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return told
	}
	events, err := kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
	if err != nil {
		return told
	}
	return join(told, obstacles(s.instance.Name, pods.Items, events.Items))
}

// hostClient is a client of the host cluster; nil where there is no way to it.
func (r *Reconciler) hostClient(ctx context.Context, s *scope) kubernetes.Interface {
	if s.cluster == nil || r.Connections == nil {
		return nil
	}
	to, err := r.Credentials.OfRegistered(ctx, s.cluster)
	if err != nil {
		return nil
	}
	conn, err := r.Connections.Of(connections.Cluster(s.cluster.Name), to)
	if err != nil {
		return nil
	}
	kube, err := kubernetes.NewForConfigAndClient(conn.RESTConfig(), conn.HTTP)
	if err != nil {
		return nil
	}
	return kube
}

// soFar lists components and how many of their replicas are ready.
func soFar(cluster, instance string, sets []appsv1.StatefulSet, deployments []appsv1.Deployment) string {
	var parts []string
	add := func(name string, wanted *int32, ready int32) {
		replicas := int32(1)
		if wanted != nil {
			replicas = *wanted
		}
		parts = append(parts, fmt.Sprintf("%s %d/%d", shortName(name, instance), ready, replicas))
	}
	for i := range sets {
		add(sets[i].Name, sets[i].Spec.Replicas, sets[i].Status.ReadyReplicas)
	}
	for i := range deployments {
		add(deployments[i].Name, deployments[i].Spec.Replicas, deployments[i].Status.ReadyReplicas)
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%s there is none of its components on cluster %q.", progressBegins, cluster)
	}
	slices.Sort(parts)
	return fmt.Sprintf("%s on cluster %q, with replicas ready: %s.", progressBegins, cluster, strings.Join(parts, ", "))
}
