package drift

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
)

// unsendable are annotations that an API server or a controller of the member sets whatever is sent, or
// that the index does not have.
var unsendable = []string{appsv1.DeprecatedTemplateGeneration, corev1.LastAppliedConfigAnnotation}

// differing are the fields of what was sent that differ in an object. A value in another notation, such as
// 1000m for 1, is the same.
func differing(sent, object *unstructured.Unstructured) []diff.Change {
	manifest := sendable(sent)
	changes := diff.Within(manifest, object.Object)
	if len(changes) == 0 {
		return nil
	}
	typedSent, known := canonical(manifest)
	typedObject, also := canonical(object.Object)
	var differ map[string]bool
	if known && also {
		differ = map[string]bool{}
		for _, c := range diff.Within(typedSent, typedObject) {
			differ[c.Path] = true
		}
	}
	return slices.DeleteFunc(changes, func(c diff.Change) bool {
		if deprecatedAlias(manifest, c.Path) {
			return true
		}
		if differ == nil || !has(typedSent, c.Path) {
			return false // A newer field than those of the Go types.
		}
		for path := range differ {
			if path == c.Path || strings.HasPrefix(path, c.Path+"/") || strings.HasPrefix(c.Path, path+"/") {
				return false
			}
		}
		return true
	})
}

// sendable is what of a manifest an object can have: all but the status, and of the metadata the labels and
// annotations.
func sendable(sent *unstructured.Unstructured) map[string]any {
	u := &unstructured.Unstructured{Object: maps.Clone(sent.Object)}
	annotations, labels := u.GetAnnotations(), u.GetLabels()
	for _, key := range unsendable {
		delete(annotations, key)
	}
	delete(u.Object, "status")
	delete(u.Object, "metadata")
	u.SetAnnotations(annotations)
	u.SetLabels(labels)
	return u.Object
}

// canonical is a manifest as an API server writes it; false when the kind is not one of Kubernetes' own, or
// cannot be read as such.
func canonical(manifest map[string]any) (map[string]any, bool) {
	u := &unstructured.Unstructured{Object: manifest}
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, false
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest, typed); err != nil {
		return nil, false
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	return out, err == nil
}

// deprecatedAlias reports whether a field is serviceAccount beside serviceAccountName, which API servers make
// equal to that.
func deprecatedAlias(manifest map[string]any, path string) bool {
	of, ok := strings.CutSuffix(path, "/serviceAccount")
	return ok && has(manifest, of+"/serviceAccountName")
}

// has reports whether a manifest has a value at a path.
func has(manifest map[string]any, path string) bool {
	var at any = manifest
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch node := at.(type) {
		case map[string]any:
			at = node[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(node) {
				return false
			}
			at = node[i]
		default:
			return false
		}
	}
	return at != nil
}
