// Package picture compares what users say in the objects of a fleet before and after a test.
package picture

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// InNamespaces are the kinds that mutations of the tests write.
var InNamespaces = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "PropagationPolicy"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "OverridePolicy"},
	{Group: "autoscaling.karmada.io", Version: "v1alpha1", Kind: "FederatedHPA"}, {Group: "autoscaling.karmada.io", Version: "v1alpha1", Kind: "CronFederatedHPA"},
	{Group: "networking.karmada.io", Version: "v1alpha1", Kind: "MultiClusterService"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "FederatedResourceQuota"},
}

// OfInstance are the kinds of an instance without namespace, and OfGlobal those of the global cluster.
var (
	OfInstance = []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"},
		{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterPropagationPolicy"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterOverridePolicy"},
		{Group: "apps.karmada.io", Version: "v1alpha1", Kind: "WorkloadRebalancer"},
	}
	OfGlobal = []schema.GroupVersionKind{{Group: "kairship.io", Version: "v1alpha1", Kind: "Cluster"}, {Group: "kairship.io", Version: "v1alpha1", Kind: "Instance"}}
)

// Whole is the picture of all instances and of the global cluster.
func Whole(t testing.TB, f *fleet.Fleet) map[string]string {
	t.Helper()
	found, mu := map[string]string{}, sync.Mutex{}
	var all sync.WaitGroup
	list := func(cluster string, kinds ...schema.GroupVersionKind) {
		c := f.Client(t, cluster)
		for _, gvk := range kinds {
			all.Go(func() {
				of := &unstructured.UnstructuredList{}
				of.SetGroupVersionKind(gvk)
				if err := c.List(t.Context(), of); err != nil {
					t.Errorf("looking at %s of %s: %v", gvk.Kind, cluster, err)
				}
				mu.Lock()
				defer mu.Unlock()
				for i := range of.Items {
					found[Key(cluster, &of.Items[i])] = Said(t, &of.Items[i])
				}
			})
		}
	}
	for _, instance := range f.Names(fleet.RoleInstance) {
		list(instance, InNamespaces...)
		list(instance, OfInstance...)
	}
	for _, global := range f.Names(fleet.RoleGlobal) {
		list(global, append(slices.Clip(OfGlobal), schema.GroupVersionKind{Group: "kairship.io", Version: "v1alpha1", Kind: "InstanceRoleBinding"})...)
	}
	all.Wait()
	return found
}

// Key names an object of a cluster.
func Key(cluster string, u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s: %s %s/%s", cluster, u.GetKind(), u.GetNamespace(), u.GetName())
}

// Said is what users say in an object, as text, and not what controllers note of it meanwhile.
func Said(t testing.TB, u *unstructured.Unstructured) string {
	t.Helper()
	content := maps.Clone(u.Object)
	delete(content, "status")
	own := func(from map[string]string) map[string]string {
		out := map[string]string{}
		maps.Copy(out, from)
		maps.DeleteFunc(out, func(key, _ string) bool { return strings.Contains(strings.Split(key, "/")[0], "karmada.io") })
		return out
	}
	content["metadata"] = map[string]any{
		"labels": own(u.GetLabels()), "annotations": own(u.GetAnnotations()), "uid": u.GetUID(), "deleting": u.GetDeletionTimestamp() != nil,
	}
	raw, err := json.Marshal(content)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

// Differences are the objects that are not in both pictures as they are in one.
func Differences(before, after map[string]string) []string {
	var changed []string
	for key, was := range before {
		switch is, ok := after[key]; {
		case !ok && !strings.Contains(was, `"deleting":true`): // What goes already goes without a request.
			changed = append(changed, key+" (gone)")
		case ok && is != was:
			changed = append(changed, fmt.Sprintf("%s (%s became %s)", key, was, is))
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			changed = append(changed, key+" (new)")
		}
	}
	return changed
}
