package writes

import (
	"context"
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
	looked "github.com/kairship-io/kairship/test/internal/picture"
)

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
		found[looked.Key(cluster, u)] = looked.Said(t, u)
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
		for _, gvk := range looked.InNamespaces {
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
		for _, gvk := range looked.OfInstance {
			one(instance, gvk, name)
		}
		for _, gvk := range looked.OfGlobal {
			one("global", gvk, name)
		}
	}
	all.Wait()
	return found
}
