package projected

import (
	"fmt"
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// keyOf is the index's key of a workload.
func keyOf(k *projection.WorkloadKey) index.Key {
	return index.Key{
		Cluster: v1alpha1.VirtualClusterName(k.Instance), Type: typeOf(workload.Kind(k.Kind).GVK().Kind),
		Namespace: k.Namespace, Name: k.Name,
	}
}

// positionOf is a place in the projection as the index names it.
func positionOf(p *projection.Position) index.Position {
	key := keyOf(&p.WorkloadKey)
	return index.Position{
		CreatedAt: time.Unix(p.CreatedAt, 0).UTC(), Cluster: key.Cluster, Namespace: key.Namespace, Name: key.Name, Kind: key.Type.Kind,
		Severity: p.Severity, Ready: p.Ready,
	}
}

// placeOf is a place of the index as the projection names it.
func placeOf(p *index.Position) (*projection.Position, error) {
	for _, kind := range workload.Kinds() {
		if kind.GVK().Kind == p.Kind {
			key := projection.WorkloadKey{Instance: v1alpha1.InstanceOfVirtualCluster(p.Cluster), Namespace: p.Namespace, Name: p.Name, Kind: string(kind)}
			return &projection.Position{WorkloadKey: key, CreatedAt: p.CreatedAt.Unix(), Severity: p.Severity, Ready: p.Ready}, nil
		}
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

// templateKey is the key of a workload that was read; that of no type for anything else.
func templateKey(o *index.Object) index.Key {
	return index.Key{Cluster: o.Cluster, Type: typeOf(o.Kind), Namespace: o.Meta.Namespace, Name: o.Meta.Name}
}
