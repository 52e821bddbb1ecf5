package consistency

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/index"
)

// Version is the result of one write: an object at a version, or its absence.
type Version struct {
	Instance string `json:"i"`
	Group    string `json:"g,omitempty"`
	// Version is that of the API that was written to.
	Version   string `json:"v"`
	Resource  string `json:"r"`
	Kind      string `json:"k"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
	UID       string `json:"u,omitempty"`
	// ResourceVersion is the one that was stored; empty where the object was removed.
	ResourceVersion string `json:"rv,omitempty"`
	// Deleted: the object of this UID no longer exists.
	Deleted bool `json:"d,omitempty"`
	// Deleting: the object has a deletion timestamp, and may be removed at any time.
	Deleting bool `json:"x,omitempty"`
}

// GVR is the resource that was written to.
func (v Version) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v.Group, Version: v.Version, Resource: v.Resource}
}

// Type returns the index type of the resource.
func (v Version) Type() index.Type {
	return index.Type{Group: v.Group, Version: v.Version, Resource: v.Resource, Kind: v.Kind}
}

// shownBy reports whether the index has the object, nil for none, at the version or a later one.
//
// A missing object decides nothing: either the index has not collected it yet, or it was deleted
// since. The end of the wait decides that.
func (v Version) shownBy(o *index.Object) bool {
	if v.Deleted {
		return o == nil || string(o.Meta.UID) != v.UID
	}
	if o == nil {
		return v.Deleting
	}
	return !index.OlderVersion(o.Meta.ResourceVersion, v.ResourceVersion)
}
