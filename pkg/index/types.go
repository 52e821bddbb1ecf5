package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/clusterpedia-io/client-go/constants"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Type is a kind of object as the index stores it: with the version in which it
// is collected.
type Type struct {
	Group, Version, Resource, Kind string
}

// GroupVersionResource is the type without its kind.
func (t Type) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}

// Key names one object in the index. It is comparable, so that loaders can use
// it as it is.
type Key struct {
	// Cluster is the index's name of the cluster: the name of its PediaCluster.
	Cluster string
	Type    Type
	// Namespace is empty for objects without one.
	Namespace, Name string
}

// NotFound is the error of an object that is not there. A caller that keeps an object
// from a caller returns it too, so that hidden and missing look the same.
func (k Key) NotFound() error {
	name := k.Name
	if k.Namespace != "" {
		name = k.Namespace + "/" + k.Name
	}
	return apierror.NotFound(k.Type.Kind, name)
}

// Object is one object from the index. Its JSON is decoded as far as a caller
// asks, because most queries want little of it.
type Object struct {
	// Cluster is the index's name of the cluster that it was collected from.
	Cluster    string
	APIVersion string
	Kind       string
	Meta       metav1.ObjectMeta
	// raw is the object as the index sent it, with the index's own annotations.
	raw json.RawMessage
	// detail is how much of it the index was asked for.
	detail Detail
	// State is the state of a workload that the projection has of this version of it; nil
	// when it is not known, and has to be computed.
	State *projection.State
	// Pod is the row that the projection has of a pod; nil where only the pod was read.
	Pod *projection.PodItem
	// AsOf is set where the projection was read for the object: all that the index had at this
	// moment is in what is shown of it.
	AsOf time.Time
	// live is when the object was read from its cluster; zero when it is the index's.
	live time.Time

	mu      sync.Mutex
	decoded any
}

// MetadataOnly reports whether the object holds nothing but its metadata.
func (o *Object) MetadataOnly() bool { return o.detail == Metadata }

// Whole reports whether the object was read whole.
func (o *Object) Whole() bool { return o.detail == Whole }

// Named returns the object with its type and names for a manifest.
func (o *Object) Named() *Object {
	meta := metav1.ObjectMeta{Namespace: o.Meta.Namespace, Name: o.Meta.Name, UID: o.Meta.UID}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": map[string]any{"namespace": meta.Namespace, "name": meta.Name, "uid": meta.UID},
	})
	if err != nil {
		panic("index: encoding strings: " + err.Error())
	}
	return &Object{Cluster: o.Cluster, APIVersion: o.APIVersion, Kind: o.Kind, Meta: meta, raw: raw, AsOf: o.AsOf, live: o.live}
}

// errNotWhole is a mistake of ours: less of an object was asked for than is shown.
var errNotWhole = errors.New("the object was not read whole")

// Manifest is the object as generic JSON, without what the index added to it.
func (o *Object) Manifest() (map[string]any, error) {
	if o.detail != Whole {
		return nil, errNotWhole
	}
	m := map[string]any{}
	if err := json.Unmarshal(o.raw, &m); err != nil {
		return nil, err
	}
	meta, ok := m["metadata"].(map[string]any)
	if !ok {
		return m, nil
	}
	delete(meta, "managedFields")
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		delete(annotations, constants.ShadowAnnotationClusterName)
		delete(annotations, constants.ShadowAnnotationGroupVersionResource)
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
	}
	return m, nil
}

// Text is the manifest as JSON. It takes the memory of its text alone, where a decoded
// manifest takes many times as much.
func (o *Object) Text() (json.RawMessage, error) {
	m, err := o.Manifest()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// Without returns the object without the field at a path, for users who may not read it. The object
// itself stays as it is. Of the metadata, only annotations can be removed.
func (o *Object) Without(path ...string) (*Object, error) {
	raw, changed, err := without(o.raw, path)
	if err != nil || !changed {
		return o, err
	}
	meta := o.Meta
	if path[0] == "metadata" {
		if len(path) != 3 || path[1] != "annotations" {
			return nil, fmt.Errorf("the metadata of an object can't do without %q", path)
		}
		meta.Annotations = maps.Clone(meta.Annotations)
		delete(meta.Annotations, path[2])
	}
	return &Object{Cluster: o.Cluster, APIVersion: o.APIVersion, Kind: o.Kind, Meta: meta, raw: raw, detail: o.detail, State: o.State, live: o.live}, nil
}

// Masked returns the object with every value of the map in a field replaced, for users who may know
// its keys only. A field that is no map is removed. The object itself stays as it is.
func (o *Object) Masked(field, mask string) (*Object, error) {
	if field == "metadata" {
		return nil, errors.New("the metadata of an object can't be masked")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.raw, &fields); err != nil {
		return nil, err
	}
	at, found := fields[field]
	if !found {
		return o, nil
	}
	delete(fields, field)
	var values map[string]json.RawMessage
	if err := json.Unmarshal(at, &values); err == nil && values != nil {
		masked := make(map[string]string, len(values))
		for key := range values {
			masked[key] = mask
		}
		if fields[field], err = json.Marshal(masked); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return &Object{Cluster: o.Cluster, APIVersion: o.APIVersion, Kind: o.Kind, Meta: o.Meta, raw: raw, detail: o.detail, State: o.State, live: o.live}, nil
}

func without(raw json.RawMessage, path []string) (rest json.RawMessage, changed bool, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, false, err
	}
	at, found := fields[path[0]]
	switch {
	case !found:
		return raw, false, nil
	case len(path) == 1:
		delete(fields, path[0])
	default:
		if at, changed, err = without(at, path[1:]); err != nil || !changed {
			return raw, false, err
		}
		fields[path[0]] = at
	}
	rest, err = json.Marshal(fields)
	return rest, true, err
}

// OrderField is what a list can be ordered by.
type OrderField int

// The fields. Each is followed by the rest of the object's name, which makes
// the order total.
const (
	// OrderByNamespace orders by namespace, then name. It is the default.
	OrderByNamespace OrderField = iota
	// OrderByName orders by name, then namespace.
	OrderByName
	// OrderByCreation orders by time of creation, in whole seconds.
	OrderByCreation
	// OrderByHealth orders workloads by the severity of their health. It needs Projected.
	OrderByHealth
	// OrderByReady orders workloads by their ready replicas. It needs Projected.
	OrderByReady
	// OrderByRestarts orders pods by the restarts of their containers. It needs Projected.
	OrderByRestarts
	// OrderByRelevance orders by how well workloads, or pods, fit Projected.Relevant. No page of it is
	// followed by another.
	OrderByRelevance
)

// Order is the order of a list.
type Order struct {
	Field OrderField
	Desc  bool
}

// FieldEquals asks for objects whose field at Path has Value.
type FieldEquals struct {
	// Path leads to a scalar, from the root of the object; no step may be a list.
	Path  []string
	Value string
}

// ListQuery says which objects to list.
type ListQuery struct { //nolint:recvcheck // Most methods make a changed copy; one only looks and is called often.
	// Types are the kinds to list; at least one, unless Custom is set.
	Types []Type
	// Custom are custom workloads that are listed with them; nil for none. The projection alone has
	// these: where it cannot be read, a list has those of Types.
	Custom *Custom `json:",omitempty"`
	// Clusters are the clusters to list whole. None means no cluster, not all:
	// a scope that was narrowed to nothing must not turn into everything.
	Clusters []string
	// Scopes are the clusters to list in part, at most one scope for each, none of
	// them in Clusters. The other filters narrow these parts further.
	Scopes []Scope
	// Namespaces, Names: only these, where not empty.
	Namespaces, Names []string
	// NameContains: only objects whose name holds this text.
	NameContains string
	// Owners: only objects whose controller has one of these UIDs, where not empty.
	Owners []string
	// Selector: only objects whose labels match.
	Selector labels.Selector
	// Fields: only objects that have all of these.
	Fields []FieldEquals
	// Order of the list.
	Order Order
	// Limit is the size of the page; at least 1.
	Limit int
	// After is where the page before ended; nil for the first page.
	After *Position
	// WithCount asks for the number of objects on all pages. It costs a request
	// of its own when After is set.
	WithCount bool
	// Detail is how much of the objects to read.
	Detail Detail
	// Brief reports that of the metadata no more is needed than names, UIDs, versions, labels and times of
	// creation. It makes a difference only to lists of Metadata that the projection answers.
	Brief bool `json:",omitempty"`
	// Projected has the list made from the projection, which knows the states of workloads and
	// the pods of instances, and not from the index, which does not; nil for any other list.
	Projected *Projected
	// Confined reports whether there are instances which the caller may not see, and must not learn
	// of by the time that an answer takes either.
	Confined bool
	// PartField is the field by whose value ListParts parts the list, besides the
	// cluster; nil parts it by cluster alone.
	PartField []string
}

// Custom says which custom workloads a list has.
type Custom struct {
	// Kinds are their kinds, as workload.Kind; nil for all.
	Kinds []string
}

// Projected is what only the projection can select by. Empty lists do not narrow.
type Projected struct {
	// Pods has the pods of the instances' members listed, and not the workloads of the instances.
	// Clusters and Scopes of the query are still those of the instances.
	Pods *PodFilter `json:",omitempty"`
	// Health: only workloads in one of these states.
	Health []string
	// ScheduledTo: only those that are scheduled to one of these member clusters.
	ScheduledTo []string
	// Drifted: only those of which an object differs from what Karmada sent, or of which none does; nil for both.
	Drifted *bool `json:",omitempty"`
	// Images: only those of which an image is found by one of these keys, see workload.ImageKeys, begins
	// with one of these that end with a *, or has one of these digests.
	Images []string
	// Words: only those that have each of these words somewhere; see workload.SearchText.
	Words []string
	// UID: only the one with this UID, where not empty.
	UID string `json:",omitempty"`
	// Relevant is the text, in small letters, that OrderByRelevance orders by.
	Relevant string `json:",omitempty"`
	// Facets has the items of all pages counted by fields instead of listed, with at most
	// FacetValues values of each. Those of pods are values of projection.PodFacetField.
	Facets      []projection.FacetField
	FacetValues int
	// ImageList has the images of the pods and of the workloads listed instead of the pods.
	ImageList *ImageList `json:",omitempty"`
}

// ImageList says which images are listed, and what of each.
type ImageList struct {
	projection.ImageFilter

	ByPods bool
	// Workloads and Clusters are how many of each image are read.
	Workloads, Clusters int
}

// PodFilter is what pods alone can be selected by. Empty lists do not narrow.
type PodFilter struct {
	// Clusters: only those in one of these member clusters.
	Clusters []string
	// Phases: only those in one of these phases, as the GraphQL enum PodPhase names them.
	Phases []string
	// Nodes: only those on one of these nodes.
	Nodes []string
	// Ready: only those that are ready, or that are not; nil for any.
	Ready *bool
}

// PodCluster is the PartField of lists of pods that are parted by member cluster.
var PodCluster = []string{"cluster"}

// OfPods reports whether the query lists the pods of instances' members.
func (q *ListQuery) OfPods() bool { return q.Projected != nil && q.Projected.Pods != nil }

// Part is a part of a list: what one cluster holds of it and, where the list is
// parted by a field, what has one value there.
type Part struct {
	Cluster, Value string
}

// Page is a part of a list.
type Page struct {
	Items []*Object
	// HasNext reports whether objects follow.
	HasNext bool
	// Count is the number of objects on all pages; nil where it was not asked for.
	Count *int64
	// Live reports whether some objects were read from their clusters instead of the
	// index, or left out because their clusters do not have them any more.
	Live bool
	// WithoutCustom reports whether custom workloads are missing, because the projection could not be
	// read.
	WithoutCustom bool
	// AsOf is the moment whose state a projected list shows at least; zero for others,
	// which show what the index has.
	AsOf time.Time
	// ReadAt is the moment from which on the cluster itself was asked for the whole page;
	// zero for a page of the index.
	ReadAt time.Time
	// End is where a projected list ended; nil for an empty one. The last object of the
	// page may be before it, because objects that were deleted since are left out.
	End *Position
	// Facets are those that were asked for; nil where no object can match.
	Facets []projection.Facet
	// Images are those of a list of images, which has no Items.
	Images []projection.ImageItem
	// Scoped are the clusters of instances of which a page of objects in members has a part only:
	// which part depends on the workloads of the instance.
	Scoped []string
}
