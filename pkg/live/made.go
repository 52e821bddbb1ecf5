package live

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewObject makes an object as a source would, for tests of packages that use objects.
func NewObject(source Source, apiVersion, kind string, meta metav1.ObjectMeta, raw json.RawMessage) *Object {
	return &Object{Source: source, APIVersion: apiVersion, Kind: kind, Meta: meta, Raw: raw, memo: &memo{}}
}
