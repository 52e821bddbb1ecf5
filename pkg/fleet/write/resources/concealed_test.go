package resources

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// TestPatchesTellNothingConcealed checks that a caller who may change Secrets, but not read their
// values, can't extract these by patches.
func TestPatchesTellNothingConcealed(t *testing.T) {
	const (
		secrets    = "/api/v1/namespaces/shop/secrets/a"
		works      = "/apis/work.karmada.io/v1alpha1/namespaces/shop/works/a"
		configMaps = "/api/v1/namespaces/shop/configmaps/a"
		shown      = "/metadata/annotations/a"
	)
	step := func(op string, fields ...string) []any {
		s := map[string]any{"op": op, "path": shown}
		for n := 0; n+1 < len(fields); n += 2 {
			s[fields[n]] = fields[n+1]
		}
		return []any{map[string]any{"op": "add", "path": "/metadata/labels/a", "value": "b"}, s}
	}
	replace := step("replace", "value", "b")
	for _, tt := range []struct {
		reason, path string
		as           func(context.Context) context.Context
		of           PatchType
		patch        any
		want         apierror.Code // Empty where it is sent.
	}{
		{"a value is copied to where it is shown", secrets, writetest.AsWithoutSecrets, PatchJSON, step("copy", "from", "/data/key"), apierror.CodeForbidden},
		{"or moved", secrets, writetest.AsWithoutSecrets, PatchJSON, step("move", "from", "/data/key"), apierror.CodeForbidden},
		{"or guessed", secrets, writetest.AsWithoutSecrets, PatchJSON, step("test", "path", "/data/key", "value", "Yg=="), apierror.CodeForbidden},
		{"a value is set", secrets, writetest.AsWithoutSecrets, PatchJSON, replace, ""},
		{"a patch of this type reads nothing", secrets, writetest.AsWithoutSecrets, PatchMerge, map[string]any{"metadata": map[string]any{"labels": map[string]any{"op": "copy"}}}, ""},
		{"the caller may read the values", secrets, writetest.As, PatchJSON, step("copy", "from", "/data/key"), ""},
		{"nothing of a ConfigMap is concealed", configMaps, writetest.AsWithoutSecrets, PatchJSON, step("copy", "from", "/data/key"), ""},
		{"a Work holds Secrets", works, writetest.AsWithoutSecrets, PatchJSON, step("copy", "from", "/spec/workload"), apierror.CodeForbidden},
		{"its own fields may be set", works, writetest.AsWithoutSecrets, PatchJSON, replace, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			i, w := writetest.New(
				t, metav1.APIResource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
				metav1.APIResource{Version: "v1", Name: "secrets", Kind: "Secret", Namespaced: true},
				metav1.APIResource{Group: "work.karmada.io", Version: "v1alpha1", Name: "works", Kind: "Work", Namespaced: true},
			)
			in := PatchInput{Instance: writetest.Name, Version: "v1", Resource: "secrets", Namespace: new("shop"), Name: "a", Type: tt.of, Patch: tt.patch}
			kind := "Secret"
			switch tt.path {
			case configMaps:
				in.Resource, kind = "configmaps", "ConfigMap"
			case works:
				in.Group, in.Version, in.Resource, kind = "work.karmada.io", "v1alpha1", "works", "Work"
			}
			object := configMap("a", "YQ==")
			object["kind"] = kind
			if in.Group != "" {
				object["apiVersion"] = in.Group + "/" + in.Version
			}
			i.Put(tt.path, object)
			_, err := (&Service{Writer: w}).Patch(tt.as(t.Context()), in)
			if tt.want == "" && err != nil || tt.want != "" && !apierror.Is(err, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if sent := len(i.Written()) > 0; sent != (tt.want == "") {
				t.Errorf("sent to the instance: %t", sent)
			}
		})
	}
}
