package live

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewObject makes an object as a source would have it, for the tests of those who
// make something of objects.
func NewObject(source Source, apiVersion, kind string, meta metav1.ObjectMeta, raw json.RawMessage) *Object {
	return &Object{Source: source, APIVersion: apiVersion, Kind: kind, Meta: meta, Raw: raw, memo: &memo{}}
}
