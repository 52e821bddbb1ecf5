package write

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// An instance fails at a version that is none, also at one in a manifest.
func TestVersionInManifests(t *testing.T) {
	for version, good := range map[any]bool{nil: true, "": true, "7": true, "abc": false, "0": false, "7a": false} {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}}}
		if version != nil {
			u.Object["metadata"].(map[string]any)["resourceVersion"] = version
		}
		err := checkVersion(u, Paths{"": "input.manifests[2]"})
		if good {
			if err != nil {
				t.Errorf("%v: got %v", version, err)
			}
			continue
		}
		if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Code != apierror.CodeInvalid || e.Argument != "input.manifests[2].metadata.resourceVersion" {
			t.Errorf("%v: got %v, want INVALID at input.manifests[2].metadata.resourceVersion", version, err)
		}
	}
}
