package access

import (
	"context"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// Following live is confined as reading is, but that it takes the verb watch too.

// Grants returns what the user may do on some instances; those that they may not see
// are not in the result.
func (a *Access) Grants(ctx context.Context, instances ...string) (map[string]authz.Grant, error) {
	v, err := a.permissions.For(ctx, instances...)
	if err != nil {
		return nil, err
	}
	grants := make(map[string]authz.Grant, len(instances))
	for _, name := range instances {
		if g, ok := v.Instance(name); ok {
			grants[name] = g
		}
	}
	return grants, nil
}

// Visibility returns for all instances at once which the user may see; see Access.Instance.
// What it reports about instances that were not named holds only where the global cluster
// lists its rules.
func (a *Access) Visibility(ctx context.Context, instances ...string) (*authz.Visibility, error) {
	return a.permissions.For(ctx, instances...)
}

// WatchedNamespaces are the namespaces in which objects of a type may be followed,
// of those that are wanted; nil for all, where nil is wanted too. Whether an object
// may be followed, MayFollow decides: this only spares looking at the others.
func WatchedNamespaces(g authz.Grant, t index.Type, wanted []string) []string {
	reach := g.Reach(authz.VerbWatch)
	if reach.EveryNamespace || isNamespace(t) || (isWork(t) && !reach.None()) {
		return wanted
	}
	if wanted == nil {
		return append([]string{}, reach.Namespaces...)
	}
	return append([]string{}, slices.DeleteFunc(slices.Clone(reach.Namespaces), func(n string) bool { return !slices.Contains(wanted, n) })...)
}

// ShownWhole reports whether nothing of an object of a type is kept from the user of a grant.
func ShownWhole(g authz.Grant, t index.Type, o *metav1.ObjectMeta) bool {
	return viewOf(g, index.Key{Type: t, Namespace: o.Namespace, Name: o.Name}) == whole
}

// MayFollow reports whether an object of a type may be followed.
func MayFollow(g authz.Grant, t index.Type, o *metav1.ObjectMeta) bool {
	watches := func(namespace string) bool { return g.Can(authz.VerbWatch, namespace) }
	switch viewOf(g, index.Key{Type: t, Namespace: o.Namespace, Name: o.Name}) {
	case hidden:
		return false
	case ofBinding:
		namespace := o.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey]
		return namespace != "" && watches(namespace)
	case withoutValues, withoutManifests, whole:
	}
	if isNamespace(t) {
		return watches("") || watches(o.Name)
	}
	return watches(o.Namespace)
}
