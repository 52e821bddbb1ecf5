package projected

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// keyOf is the index's key of a workload. That of a custom one has neither version nor resource.
func keyOf(k *projection.WorkloadKey) index.Key {
	kind := workload.Kind(k.Kind)
	gvr := kind.GVR()
	return index.Key{
		Cluster: v1alpha1.VirtualClusterName(k.Instance), Type: index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: kind.GVK().Kind},
		Namespace: k.Namespace, Name: k.Name,
	}
}

// workloadKeyOf is the projection's key of a workload that an index key names.
func workloadKeyOf(k *index.Key) projection.WorkloadKey {
	kind, ok := workload.KindFromGVR(k.Type.GroupVersionResource())
	if !ok {
		kind, _ = workload.CustomKind(schema.GroupKind{Group: k.Type.Group, Kind: k.Type.Kind})
	}
	return projection.WorkloadKey{Instance: v1alpha1.InstanceOfVirtualCluster(k.Cluster), Namespace: k.Namespace, Name: k.Name, Kind: string(kind)}
}

// isCustomKey reports whether a key names a custom workload, by its kind.
func isCustomKey(k *index.Key) bool {
	_, ok := workload.CustomKind(schema.GroupKind{Group: k.Type.Group, Kind: k.Type.Kind})
	return ok && k.Type.Resource == ""
}

// customRow is what the row of a custom workload contains of its type.
type customRow struct {
	APIVersion string `json:"apiVersion"`
	Resource   string `json:"resource"`
}

// typeOfItem is the type of a workload of the projection, without a resource for a custom one that the
// index does not have.
func typeOfItem(item *projection.Item) (index.Type, error) {
	t := keyOf(&item.WorkloadKey).Type
	if !workload.Kind(item.Kind).Custom() {
		return t, nil
	}
	var row customRow
	if err := json.Unmarshal(item.Object, &row); err != nil {
		return t, fmt.Errorf("reading the row of %s %s/%s: %w", item.Kind, item.Namespace, item.Name, err)
	}
	gv, err := schema.ParseGroupVersion(row.APIVersion)
	t.Version, t.Resource = gv.Version, row.Resource
	return t, err
}

// positionOf is a place in the projection as the index names it.
func positionOf(p *projection.Position) index.Position {
	key := keyOf(&p.WorkloadKey)
	kind := key.Type.Kind
	if workload.Kind(p.Kind).Custom() {
		kind = p.Kind
	}
	return index.Position{
		CreatedAt: time.Unix(p.CreatedAt, 0).UTC(), Cluster: key.Cluster, Namespace: key.Namespace, Name: key.Name, Kind: kind,
		Severity: p.Severity, Ready: p.Ready,
	}
}

// placeOf is a place of the index as the projection names it.
func placeOf(p *index.Position) (*projection.Position, error) {
	at := func(kind workload.Kind) (*projection.Position, error) {
		key := projection.WorkloadKey{Instance: v1alpha1.InstanceOfVirtualCluster(p.Cluster), Namespace: p.Namespace, Name: p.Name, Kind: string(kind)}
		return &projection.Position{WorkloadKey: key, CreatedAt: p.CreatedAt.Unix(), Severity: p.Severity, Ready: p.Ready}, nil
	}
	for _, kind := range workload.Kinds() {
		if kind.GVK().Kind == p.Kind {
			return at(kind)
		}
	}
	if kind, ok := workload.ParseCustomKind(p.Kind); ok {
		return at(kind)
	}
	return nil, fmt.Errorf("a list of workloads cannot go on after a %s", p.Kind)
}

// typeOf is the type of workloads of a kind, as Kubernetes names it.
func typeOf(kind string) index.Type {
	for _, k := range workload.Kinds() {
		if k.GVK().Kind == kind {
			gvr := k.GVR()
			return index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: kind}
		}
	}
	return index.Type{}
}

// wholeKey is the key of a workload, or of a pod of a list, that was read from the projection.
func wholeKey(o *index.Object) index.Key {
	if o.Pod != nil {
		return podKey(o.Pod)
	}
	return templateKey(o)
}

// templateKey is the key of a workload that was read; that of no type for anything else, and for a
// custom workload of which the index does not have the template.
func templateKey(o *index.Object) index.Key {
	if o.State != nil && workload.Kind(o.State.Kind).Custom() {
		key := index.Key{Cluster: o.Cluster, Namespace: o.Meta.Namespace, Name: o.Meta.Name}
		if row, err := index.Decode[customRow](o); err == nil && row.Resource != "" {
			gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
			key.Type = index.Type{Group: gvk.Group, Version: gvk.Version, Resource: row.Resource, Kind: o.Kind}
		}
		return key
	}
	return index.Key{Cluster: o.Cluster, Type: typeOf(o.Kind), Namespace: o.Meta.Namespace, Name: o.Meta.Name}
}
