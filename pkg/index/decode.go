package index

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterpedia-io/client-go/constants"
)

// errNoCluster is an object of the index that does not say where it is from.
// Serving it could show one instance's object as another's, so it is refused.
var errNoCluster = errors.New("an object of the index has no " + constants.ShadowAnnotationClusterName + " annotation")

// decodeObject decodes what every object has.
func decodeObject(raw json.RawMessage, metadataOnly bool) (*Object, error) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	cluster := head.Metadata.Annotations[constants.ShadowAnnotationClusterName]
	if cluster == "" {
		return nil, errNoCluster
	}
	delete(head.Metadata.Annotations, constants.ShadowAnnotationClusterName)
	delete(head.Metadata.Annotations, constants.ShadowAnnotationGroupVersionResource)
	return &Object{
		Cluster:      cluster,
		APIVersion:   head.APIVersion,
		Kind:         head.Kind,
		Meta:         head.Metadata,
		raw:          raw,
		metadataOnly: metadataOnly,
	}, nil
}
