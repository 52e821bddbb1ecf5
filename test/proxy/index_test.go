package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/internal/poll"
)

// TestIndexSource reads the same from the index and from the instance.
func TestIndexSource(t *testing.T) {
	w := open(t)
	token := w.Token(t, "alice")
	read := func(ctx context.Context, path string, header ...string) (*unstructured.UnstructuredList, string, error) {
		status, body, err := w.get(ctx, token, "/instances/alpha/proxy"+path, header...)
		if err != nil || status != http.StatusOK {
			return nil, body, fmt.Errorf("HTTP %d %w %.300s", status, err, body)
		}
		list := &unstructured.UnstructuredList{}
		return list, body, json.Unmarshal([]byte(body), list)
	}
	names := func(l *unstructured.UnstructuredList) []string {
		var all []string
		for _, item := range l.Items {
			all = append(all, item.GetNamespace()+"/"+item.GetName())
		}
		slices.Sort(all)
		return all
	}
	const asked, header = "source=index", "Kairship-Source"
	for _, path := range []string{
		"/apis/apps/v1/namespaces/shop/deployments", "/apis/apps/v1/deployments", "/apis/policy.karmada.io/v1alpha1/namespaces/shop/propagationpolicies",
		"/apis/cluster.karmada.io/v1alpha1/clusters", "/api/v1/namespaces", "/apis/apps/v1/namespaces/shop/deployments?labelSelector=team%3Dstorefront",
		"/apis/apps/v1/deployments?fieldSelector=metadata.name%3Dfrontend", "/api/v1/namespaces/none/configmaps",
	} {
		poll.Until(t, 20*time.Second, path+" is the same", func(ctx context.Context) error {
			live, _, err := read(ctx, path)
			if err != nil {
				return err
			}
			indexed, _, err := read(ctx, path, header, "index")
			if err != nil {
				return err
			}
			if !slices.Equal(names(live), names(indexed)) {
				return fmt.Errorf("the instance has %v, the index %v", names(live), names(indexed))
			}
			return nil
		})
	}
	if _, body, err := read(t.Context(), "/apis/apps/v1/namespaces/shop/deployments/frontend?"+asked); err != nil {
		t.Errorf("one object: %s %v", body, err)
	}
	// A page, and the one after it.
	first, _, err := read(t.Context(), "/apis/apps/v1/namespaces/shop/deployments?limit=1&"+asked)
	if err != nil || len(first.Items) != 1 || first.GetContinue() == "" {
		t.Fatalf("the first page: %+v %v", first, err)
	}
	second, _, err := read(t.Context(), "/apis/apps/v1/namespaces/shop/deployments?limit=1&"+asked+"&continue="+first.GetContinue())
	if err != nil || len(second.Items) != 1 || second.Items[0].GetName() == first.Items[0].GetName() {
		t.Errorf("the second page: %+v %v", second, err)
	}
	for path, why := range map[string]string{
		"/api/v1/namespaces/shop/pods?watch=true&" + asked: "the index can't watch",
		"/api?" + asked: "discovery is not in it",
		"/apis/apps/v1/deployments?fieldSelector=spec.replicas%3D1&" + asked:      "it knows few fields",
		"/apis/apps/v1/namespaces/shop/deployments/frontend/scale?" + asked:       "it has no subresources",
		"/apis/apps/v1/namespaces/shop/deployments?limit=many&" + asked:           "no number",
		"/apis/apps/v1/namespaces/shop/deployments?continue=nonsense&" + asked:    "no cursor of it",
		"/apis/apps/v1/namespaces/shop/deployments?labelSelector=%3D%3D&" + asked: "no selector",
	} {
		status, body, err := w.get(t.Context(), token, "/instances/alpha/proxy"+path)
		var s metav1.Status
		if err != nil || status != http.StatusBadRequest || json.Unmarshal([]byte(body), &s) != nil || s.Kind != "Status" {
			t.Errorf("%s: HTTP %d %v %s, want 400: %s", path, status, err, body, why)
		}
	}
	// What it does not collect it does not answer with an empty list.
	const secrets = "/api/v1/namespaces/shop/secrets"
	if status, body, err := w.get(t.Context(), token, "/instances/alpha/proxy"+secrets+"?"+asked); err != nil || status != http.StatusBadRequest || !strings.Contains(body, "does not collect") {
		t.Errorf("Secrets from the index: HTTP %d %v %s", status, err, body)
	}
	one := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "index-source-"}}
	alpha := w.Client(t, "alpha")
	if err := alpha.Create(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := alpha.Delete(context.Background(), one); err != nil {
			t.Error(err)
		}
	})
	own, _, err := read(t.Context(), secrets)
	if err != nil {
		t.Fatal(err)
	}
	if same, _, err := read(t.Context(), secrets, header, "index"); err != nil || len(own.Items) == 0 || !slices.Equal(names(own), names(same)) {
		t.Errorf("Secrets with the header on everything: %v", err)
	}
	if status, _, err := w.get(t.Context(), w.Token(t, "mallory"), "/instances/alpha/proxy/api/v1/namespaces?"+asked); err != nil || status != http.StatusNotFound {
		t.Errorf("mallory and the index: HTTP %d %v", status, err)
	}
	// With the header on everything, what the index can't answer is answered by the instance.
	if status, _, err := w.get(t.Context(), token, "/instances/alpha/proxy/api", header, "index"); err != nil || status != http.StatusOK {
		t.Errorf("discovery with the header: HTTP %d %v", status, err)
	}
}
