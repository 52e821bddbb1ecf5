package index

import (
	"encoding/json"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewLive makes an Object of what a cluster itself has just said, so that it can
// be shown like one from the index. The manifest is generic JSON and is not kept.
func NewLive(cluster string, manifest map[string]any, at time.Time) (*Object, error) {
	// The index prunes managedFields too.
	manifest = maps.Clone(manifest)
	if meta, ok := manifest["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		delete(meta, "managedFields")
		manifest["metadata"] = meta
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	var known struct {
		metav1.TypeMeta `json:",inline"`
		Meta            metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, err
	}
	return &Object{Cluster: cluster, APIVersion: known.APIVersion, Kind: known.Kind, Meta: known.Meta, raw: raw, live: at}, nil
}

// NewListed makes an Object of an item of a list that a cluster itself answered with, of
// which this much was asked for. Such items do not say their kind, or say that of a list of
// metadata.
func NewListed(cluster string, t Type, item json.RawMessage, detail Detail, at time.Time) (*Object, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(item, &fields); err != nil {
		return nil, err
	}
	o := &Object{Cluster: cluster, APIVersion: t.GroupVersionResource().GroupVersion().String(), Kind: t.Kind, detail: detail, live: at}
	if err := json.Unmarshal(fields["metadata"], &o.Meta); err != nil {
		return nil, err
	}
	o.Meta.ManagedFields = nil
	if detail == Metadata {
		clear(fields)
	}
	for name, value := range map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": o.Meta} {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = raw
	}
	var err error
	o.raw, err = json.Marshal(fields)
	return o, err
}

// Live returns when the object was read from its cluster itself; false for one that comes from the
// index.
func (o *Object) Live() (time.Time, bool) { return o.live, !o.live.IsZero() }

// NewObserved makes an Object of what a watch on a cluster says, which lasts until
// the watch says otherwise. Metadata and manifest are kept and must not be changed.
func NewObserved(cluster, apiVersion, kind string, meta metav1.ObjectMeta, manifest json.RawMessage) *Object {
	return &Object{Cluster: cluster, APIVersion: apiVersion, Kind: kind, Meta: meta, raw: manifest}
}
