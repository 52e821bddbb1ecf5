package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// inNamespaces are the kinds that mutations of the tests write.
var inNamespaces = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "PropagationPolicy"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "OverridePolicy"},
	{Group: "autoscaling.karmada.io", Version: "v1alpha1", Kind: "FederatedHPA"}, {Group: "autoscaling.karmada.io", Version: "v1alpha1", Kind: "CronFederatedHPA"},
	{Group: "networking.karmada.io", Version: "v1alpha1", Kind: "MultiClusterService"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "FederatedResourceQuota"},
}

// alone are the kinds without namespace, of which the one that an input names is
// looked at.
var alone = map[string][]schema.GroupVersionKind{
	"instance": {
		{Version: "v1", Kind: "Namespace"}, {Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"},
		{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterPropagationPolicy"}, {Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterOverridePolicy"},
		{Group: "apps.karmada.io", Version: "v1alpha1", Kind: "WorkloadRebalancer"},
	},
	"global": {{Group: "kairship.io", Version: "v1alpha1", Kind: "Cluster"}, {Group: "kairship.io", Version: "v1alpha1", Kind: "Instance"}},
}

var namespaces = regexp.MustCompile(`namespace: ([a-z0-9-]+)`)

// picture is what there is where an input points to, by object: what people say
// in it, and not what controllers note of it meanwhile.
func picture(t testing.TB, input map[string]any) map[string]string {
	t.Helper()
	f := fleet.Open(t)
	instance, _ := input["instance"].(string)
	if !slices.Contains(f.Names(fleet.RoleInstance), instance) {
		return nil
	}
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		found = map[string]string{}
	)
	add := func(cluster string, u *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		found[fmt.Sprintf("%s: %s %s/%s", cluster, u.GetKind(), u.GetNamespace(), u.GetName())] = said(t, u)
	}
	in := map[string]bool{}
	if namespace, _ := input["namespace"].(string); namespace != "" {
		in[namespace] = true
	}
	text, _ := input["manifests"].(string)
	for _, m := range namespaces.FindAllStringSubmatch(text, -1) {
		in[m[1]] = true
	}
	c := f.Client(t, instance)
	for namespace := range in {
		for _, gvk := range inNamespaces {
			all.Go(func() {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(gvk)
				if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
					t.Errorf("looking at %s: %v", gvk.Kind, err)
				}
				for i := range list.Items {
					add(instance, &list.Items[i])
				}
			})
		}
	}
	one := func(cluster string, gvk schema.GroupVersionKind, name string) {
		all.Go(func() {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(gvk)
			err := f.Client(t, cluster).Get(context.WithoutCancel(t.Context()), client.ObjectKey{Name: name}, u)
			switch {
			case err == nil:
				add(cluster, u)
			case !apierrors.IsNotFound(err) && !apimeta.IsNoMatchError(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("looking at %s %q: %v", gvk.Kind, name, err)
			}
		})
	}
	for _, argument := range []string{"name", "cluster", "namespace"} {
		name, _ := input[argument].(string)
		if name == "" || strings.ContainsAny(name, "/%. ") {
			continue
		}
		for _, gvk := range alone["instance"] {
			one(instance, gvk, name)
		}
		for _, gvk := range alone["global"] {
			one("global", gvk, name)
		}
	}
	all.Wait()
	return found
}

// said is what people say in an object, as text.
func said(t testing.TB, u *unstructured.Unstructured) string {
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

// differences are the objects that are not in both pictures as they are in one.
func differences(before, after map[string]string) []string {
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
