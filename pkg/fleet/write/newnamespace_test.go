package write_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// A write waits for rights that are on their way, and for no others.
func TestRightsInANewNamespace(t *testing.T) {
	configMap := write.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", Namespaced: true}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("no rule"))
	now := time.Now()
	for _, tt := range []struct {
		reason    string
		namespace string
		// made is when the namespace was made, and zero when there is none.
		made time.Time
		// rightsAfter is how often it is asked for the rights before they are there.
		rightsAfter int
		deletes     bool
		sent, asked int
		code        apierror.Code
	}{
		{"the rights come", "shop", now, 2, false, 2, 3, ""},
		{"the namespace is not new", "shop", now.Add(-2 * time.Minute), 0, false, 1, 0, apierror.CodeForbidden},
		{"there is no such namespace", "shop", time.Time{}, 0, false, 1, 0, apierror.CodeNotFound},
		{"what another client made is deleted", "shop", now, 2, true, 2, 3, ""},
		{"nothing is deleted in a namespace that is not new", "shop", now.Add(-2 * time.Minute), 0, true, 1, 0, apierror.CodeForbidden},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i, w := writetest.New(t, metav1.APIResource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true})
			if !tt.made.IsZero() {
				i.Put("/api/v1/namespaces/"+tt.namespace, map[string]any{
					"apiVersion": "v1", "kind": "Namespace",
					"metadata": map[string]any{"name": tt.namespace, "creationTimestamp": tt.made.UTC().Format(time.RFC3339)},
				})
			}
			if tt.deletes {
				i.Put("/api/v1/namespaces/"+tt.namespace+"/configmaps/settings", map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": tt.namespace},
				})
			}
			sent, asked := 0, 0
			i.Allowed = func() bool {
				asked++
				return asked > tt.rightsAfter
			}
			i.Before = func(r *http.Request, path string) error {
				if r.Method == http.MethodGet || !strings.Contains(path, "/configmaps/") {
					return nil
				}
				sent++
				if asked > tt.rightsAfter {
					return nil
				}
				return refused
			}
			ctx := writetest.As(t.Context())
			site, err := w.To(ctx, writetest.Name)
			if err != nil {
				t.Fatal(err)
			}
			if tt.deletes {
				_, err = site.Delete(ctx, configMap, tt.namespace, "settings", write.Deletion{}, write.Options{})
			} else {
				_, err = site.Create(ctx, configMap, &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": tt.namespace},
				}}, write.Options{})
			}
			if tt.code == "" && err != nil || tt.code != "" && !apierror.Is(err, tt.code) {
				t.Errorf("got %v, want code %q", err, tt.code)
			}
			if sent != tt.sent || asked != tt.asked {
				t.Errorf("sent %d times and asked for rights %d times, want %d and %d", sent, asked, tt.sent, tt.asked)
			}
		})
	}
}
