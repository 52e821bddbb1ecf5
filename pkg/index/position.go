package index

import (
	"cmp"
	"strings"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
)

// Position is the place of one object in an ordered list. It holds the values
// of the order's columns, so it stays true when the object itself goes.
type Position struct {
	CreatedAt time.Time
	Cluster   string
	Namespace string
	Name      string
	Kind      string
	// Severity and Ready are those of a workload whose state is known.
	Severity int   `json:",omitempty"`
	Ready    int32 `json:",omitempty"`
	// Instance and Restarts are those of a pod, whose Cluster is a member of the instance.
	Instance string `json:",omitempty"`
	Restarts int32  `json:",omitempty"`
	// Pods is how many pods have an image, whose Name is its reference.
	Pods int64 `json:",omitempty"`
}

// PositionOf returns an object's position in the order.
func PositionOf(o *Object) Position {
	p := Position{
		CreatedAt: o.Meta.CreationTimestamp.UTC(),
		Cluster:   o.Cluster,
		Namespace: o.Meta.Namespace,
		Name:      o.Meta.Name,
		Kind:      o.Kind,
	}
	if o.State != nil {
		p.Severity, p.Ready = projection.Severity(o.State.Health), o.State.Ready
		if strings.Contains(o.State.Kind, ".") {
			p.Kind = o.State.Kind // Custom kinds of several groups may have one name.
		}
	}
	if o.Pod != nil {
		p.CreatedAt, p.Instance, p.Restarts = time.Unix(o.Pod.CreatedAt, 0).UTC(), o.Pod.Instance, o.Pod.Restarts
	}
	return p
}

// follows reports whether a comes after b in the order.
func follows(o Order, a, b Position) bool { return compare(o, a, b) > 0 }

// compare compares two places in the order.
func compare(o Order, a, b Position) int {
	var c int
	namespace, name := cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)
	rest := cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Kind, b.Kind))
	switch o.Field {
	case OrderByName, OrderByRelevance:
		c = cmp.Or(name, namespace, rest)
	case OrderByCreation:
		c = cmp.Or(a.CreatedAt.Compare(b.CreatedAt), namespace, name, rest)
	case OrderByHealth:
		c = cmp.Or(cmp.Compare(a.Severity, b.Severity), namespace, name, rest)
	case OrderByReady:
		c = cmp.Or(cmp.Compare(a.Ready, b.Ready), namespace, name, rest)
	case OrderByRestarts:
		c = cmp.Or(cmp.Compare(a.Restarts, b.Restarts), namespace, name, rest)
	case OrderByNamespace:
		c = cmp.Or(namespace, name, rest)
	}
	if o.Desc {
		return -c
	}
	return c
}
