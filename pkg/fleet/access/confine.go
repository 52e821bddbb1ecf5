package access

import (
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// Some types are not judged by the namespace they are in. They are told by
// their resource: a type that comes from a caller need not name a kind.

// isSecret: the values of Secrets are for fewer people than the rest.
func isSecret(t index.Type) bool {
	return t.Group == "" && (strings.EqualFold(t.Resource, "secrets") || t.Kind == "Secret")
}

// isNamespace: a Namespace belongs to those who may read what is in it.
func isNamespace(t index.Type) bool { return t.Group == "" && t.Resource == "namespaces" }

// isWork: a Work holds the manifests of what it takes to a member cluster,
// Secrets among them, and is in a namespace of Karmada's own.
func isWork(t index.Type) bool {
	return t.Group == index.Works.Group && t.Resource == index.Works.Resource
}

// view is how much of an object may be read.
type view int

const (
	// hidden objects are answered as if they were missing.
	hidden view = iota
	// ofBinding is the metadata of a Work, once it shows that it was made for an
	// object in a namespace that may be read.
	ofBinding
	// metadata is everything but the body.
	metadata
	// whole is everything.
	whole
)

// viewOf judges an object by its key, before it is read.
func viewOf(g authz.Grant, k index.Key) view {
	allowed := func(ok bool) view {
		if ok {
			return whole
		}
		return hidden
	}
	switch {
	case isSecret(k.Type):
		return allowed(g.Can(authz.VerbReadSecrets, k.Namespace))
	case isNamespace(k.Type) && k.Namespace == "":
		return allowed(g.CanRead("") || (k.Name != "" && g.CanRead(k.Name)))
	case isWork(k.Type):
		return viewOfWork(g, k.Namespace)
	}
	return allowed(g.CanRead(k.Namespace))
}

func viewOfWork(g authz.Grant, namespace string) view {
	switch {
	case g.Can(authz.VerbReadSecrets, ""):
		return whole
	case g.CanRead(namespace):
		return metadata
	case strings.HasPrefix(namespace, names.ExecutionSpacePrefix) && !g.Reach(authz.VerbView).None():
		return ofBinding
	}
	return hidden
}

// shows judges an object that was read. It does not trust the question to have
// been narrowed well, nor the answer to be one to it: the index is another
// program, with bugs of its own.
func shows(g authz.Grant, o *index.Object) bool {
	switch viewOf(g, index.Key{Cluster: o.Cluster, Type: typeOf(o), Namespace: o.Meta.Namespace, Name: o.Meta.Name}) {
	case whole:
		return true
	case metadata:
		return o.MetadataOnly()
	case ofBinding:
		// A Work of an object without namespace has no such annotation.
		namespace := o.Meta.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey]
		return o.MetadataOnly() && namespace != "" && g.CanRead(namespace)
	case hidden:
	}
	return false
}

// typeOf is the type of an object, as far as viewOf tells types apart: the plurals
// of these are regular.
func typeOf(o *index.Object) index.Type {
	group, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group = ""
	}
	return index.Type{Group: group, Resource: strings.ToLower(o.Kind) + "s"}
}

// confined is what remains of a list in one cluster.
type confined struct {
	// none: nothing remains.
	none bool
	// scope remains; the whole cluster where it is nil.
	scope *index.Scope
	// metadataOnly: bodies may not be read.
	metadataOnly bool
}

// confine narrows a list to what may be read of it in a cluster. Scopes are
// narrowed by the query's own namespaces and names already, so that what is
// outside of them is not asked for at all.
func confine(g authz.Grant, cluster string, q *index.ListQuery) confined {
	verb := authz.VerbView
	if slices.ContainsFunc(q.Types, isSecret) {
		verb = authz.VerbReadSecrets
	}
	c := confined{metadataOnly: slices.ContainsFunc(q.Types, isWork) && !g.Can(authz.VerbReadSecrets, "")}
	reach := g.Reach(verb)
	namespacesOnly := len(q.Types) > 0 && !slices.ContainsFunc(q.Types, func(t index.Type) bool { return !isNamespace(t) })
	scope := index.Scope{Cluster: cluster}
	switch {
	case reach.None():
	case reach.Everything, namespacesOnly && reach.EveryNamespace:
		return c
	case namespacesOnly:
		scope.Names = both(reach.Namespaces, q.Names)
	case !reach.EveryNamespace:
		scope.Namespaces = both(reach.Namespaces, q.Namespaces)
	case len(q.Namespaces) == 0:
		scope.EveryNamespace = true
	default:
		scope.Namespaces = slices.DeleteFunc(slices.Clone(q.Namespaces), func(n string) bool { return n == "" })
	}
	if !scope.EveryNamespace && len(scope.Namespaces) == 0 && len(scope.Names) == 0 {
		return confined{none: true}
	}
	c.scope = &scope
	return c
}

// both are the values that are allowed and, where any are wanted, wanted.
func both(allowed, wanted []string) []string {
	if len(wanted) == 0 {
		return allowed
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(v string) bool { return !slices.Contains(wanted, v) })
}
