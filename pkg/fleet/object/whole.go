package object

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Whole returns an object of a watch as JSON, without managedFields and some annotations. Objects of a watch have no kind.
func Whole(of client.Object, kind schema.GroupVersionKind, without []string) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil, fmt.Errorf("convert the %s %q: %w", kind.Kind, of.GetName(), err)
	}
	whole := &unstructured.Unstructured{Object: fields}
	whole.SetGroupVersionKind(kind)
	whole.SetManagedFields(nil)
	annotations := whole.GetAnnotations()
	for _, key := range without {
		delete(annotations, key)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	whole.SetAnnotations(annotations)
	return whole.Object, nil
}

// YAML returns an object as YAML; nil for none.
func YAML(whole map[string]any) (*string, error) {
	if whole == nil {
		return nil, nil //nolint:nilnil // None stays none.
	}
	text, err := marshalYAML(whole)
	if err != nil {
		return nil, err
	}
	return &text, nil
}
