package indextest

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Annotations that Clusterpedia writes on what it stores.
const (
	clusterAnnotation = "shadow.clusterpedia.io/cluster-name"
	gvrAnnotation     = "shadow.clusterpedia.io/gvr"
)

// Row is an object as the index stores it.
type Row struct {
	Cluster                        string
	Group, Version, Resource, Kind string
	Namespace, Name                string
	// UID is made from the object's name where it is empty.
	UID string
	// ResourceVersion is left out where it is empty.
	ResourceVersion string
	// Owner is the UID of the object's controller; empty where it has none.
	Owner string
	// CreatedAt is stored in its own time zone, as Clusterpedia does.
	CreatedAt           time.Time
	Labels, Annotations map[string]string
	// Body is the rest of the object, beside its metadata.
	Body map[string]any
}

// apiVersion is the group and version as an object names them.
func (r Row) apiVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

func (r Row) uid() string {
	if r.UID != "" {
		return r.UID
	}
	return fmt.Sprintf("%s.%s.%s.%s", r.Cluster, r.Resource, r.Namespace, r.Name)
}

// object is the row's JSON.
func (r Row) object() ([]byte, error) {
	annotations := map[string]string{
		clusterAnnotation: r.Cluster,
		gvrAnnotation:     r.Group + "/" + r.Version + "/" + r.Resource,
	}
	maps.Copy(annotations, r.Annotations)
	metadata := map[string]any{
		"name":              r.Name,
		"uid":               r.uid(),
		"creationTimestamp": r.CreatedAt.UTC().Format(time.RFC3339),
		"annotations":       annotations,
	}
	if r.ResourceVersion != "" {
		metadata["resourceVersion"] = r.ResourceVersion
	}
	if r.Namespace != "" {
		metadata["namespace"] = r.Namespace
	}
	if len(r.Labels) > 0 {
		metadata["labels"] = r.Labels
	}
	if r.Owner != "" {
		metadata["ownerReferences"] = []map[string]any{{"uid": r.Owner, "controller": true}}
	}
	body := maps.Clone(r.Body)
	if body == nil {
		body = map[string]any{}
	}
	body["apiVersion"], body["kind"], body["metadata"] = r.apiVersion(), r.Kind, metadata
	return json.Marshal(body)
}
