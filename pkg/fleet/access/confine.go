package access

import (
	"slices"
	"strings"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// The visibility of some types does not follow from their namespace. They are recognized by their
// resource: a type that comes from a caller need not name a kind.

// isSecret reports whether t is Secrets, whose values fewer users may read than the rest of them.
func isSecret(t index.Type) bool {
	return t.Group == "" && (strings.EqualFold(t.Resource, "secrets") || t.Kind == "Secret")
}

// isNamespace reports whether t is Namespaces. A Namespace is visible to users who may read the
// objects in it.
func isNamespace(t index.Type) bool { return t.Group == "" && t.Resource == "namespaces" }

// isWork reports whether t is Works. A Work holds the manifests for a member cluster, and is in an
// execution namespace of Karmada.
func isWork(t index.Type) bool {
	return t.Group == index.Works.Group && t.Resource == index.Works.Resource
}

// view is how much of an object may be read.
type view int

const (
	// hidden objects are answered as if they were missing.
	hidden view = iota
	// ofBinding is a Work without its manifests, once it shows that it was made for
	// an object in a namespace that may be read.
	ofBinding
	// withoutValues is a Secret of which the keys may be known, but not the values.
	withoutValues
	// withoutManifests is a Work without what it takes to the member cluster:
	// Secrets may be among it.
	withoutManifests
	// whole is everything.
	whole
)

// strip removes the manifests from a Work, and kubectl's copy of them on a Work that a user wrote.
func strip(work *index.Object) (*index.Object, error) {
	stripped, err := work.Without("spec", "workload")
	for _, key := range copies {
		if err != nil {
			return nil, err
		}
		stripped, err = stripped.Without("metadata", "annotations", key)
	}
	return stripped, err
}

// mask stands for the value of a Secret. It is not base64, so that an API server
// refuses a Secret that a user read without the values and sends back, instead
// of storing this.
const mask = "***"

// copies are annotations in which tools keep the whole of an object.
var copies = []string{
	corev1.LastAppliedConfigAnnotation, "kapp.k14s.io/original", "objectset.rio.cattle.io/applied", "banzaicloud.com/last-applied",
}

// conceal takes the values out of a Secret, and what tools keep of them.
func conceal(secret *index.Object) (*index.Object, error) {
	concealed := secret
	var err error
	for _, field := range []string{"data", "stringData"} {
		if concealed, err = concealed.Masked(field, mask); err != nil {
			return nil, err
		}
	}
	for _, key := range copies {
		if concealed, err = concealed.Without("metadata", "annotations", key); err != nil {
			return nil, err
		}
	}
	return concealed, nil
}

// viewOf judges an object by its key, before it is read.
func viewOf(g authz.Grant, k index.Key) view {
	allowed := func(ok bool) view {
		if ok {
			return whole
		}
		return hidden
	}
	switch {
	case isSecret(k.Type) && g.CanRead(k.Namespace) && !g.Can(authz.VerbReadSecrets, k.Namespace):
		return withoutValues
	case isNamespace(k.Type) && k.Namespace == "":
		return allowed(g.CanRead("") || (k.Name != "" && g.CanRead(k.Name)))
	case isWork(k.Type):
		return viewOfWork(g, k.Namespace)
	}
	return allowed(g.CanRead(k.Namespace))
}

func viewOfWork(g authz.Grant, namespace string) view {
	switch {
	case g.Can(authz.VerbReadSecrets, namespace):
		return whole
	case g.CanRead(namespace):
		return withoutManifests
	case strings.HasPrefix(namespace, names.ExecutionSpacePrefix) && !g.Reach(authz.VerbView).None():
		return ofBinding
	}
	return hidden
}

// admit judges an object that was read in answer to a question about some types,
// and takes out of it what may not be read. It does not trust the question to
// have been narrowed well, nor the answer to be one to it: the index is another
// program, with bugs of its own. An object that may not be read is nil.
func admit(g authz.Grant, types []index.Type, o *index.Object) (*index.Object, error) {
	t, ok := typeOf(types, o)
	if !ok {
		return nil, nil //nolint:nilnil // What cannot be judged may not be read.
	}
	switch viewOf(g, index.Key{Cluster: o.Cluster, Type: t, Namespace: o.Meta.Namespace, Name: o.Meta.Name}) {
	case whole:
		return o, nil
	case withoutValues:
		return conceal(o)
	case withoutManifests:
		return strip(o)
	case ofBinding:
		// A Work of an object without namespace has no such annotation.
		namespace := o.Meta.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey]
		if namespace != "" && g.CanRead(namespace) {
			return strip(o)
		}
	case hidden:
	}
	return nil, nil //nolint:nilnil // It may not be read.
}

// typeOf returns the type of an object, as far as viewOf distinguishes types: the plurals of these
// are regular. An object without a kind is of the one type that was requested.
func typeOf(types []index.Type, o *index.Object) (index.Type, bool) {
	if o.Kind == "" {
		if len(types) != 1 {
			return index.Type{}, false
		}
		return types[0], true
	}
	group, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group = ""
	}
	return index.Type{Group: group, Resource: strings.ToLower(o.Kind) + "s"}, true
}

// confined is what remains of a list in one cluster.
type confined struct {
	// none: nothing remains.
	none bool
	// scope remains; the whole cluster where it is nil.
	scope *index.Scope
}

// confine narrows a list to what may be read of it in a cluster of an instance. Scopes are
// narrowed by the query's own namespaces and names already, so that what is
// outside of them is not asked for at all.
//
// A namespace of a member is not always the namespace of that name in the instance. So a role in
// some namespaces reaches those of a member that a workload of the same namespace was sent to.
func confine(g authz.Grant, cluster, instance string, q *index.ListQuery) confined {
	reach := g.Reach(authz.VerbView)
	namespacesOnly := len(q.Types) > 0 && !slices.ContainsFunc(q.Types, func(t index.Type) bool { return !isNamespace(t) })
	scope := index.Scope{Cluster: cluster}
	switch {
	case reach.None(), instance == "":
	case reach.Everything, reach.EveryNamespace && (namespacesOnly || q.OfPods()): // Every pod has a namespace.
		return confined{}
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
	if !reach.EveryNamespace && cluster != v1alpha1.VirtualClusterName(instance) {
		scope.SentBy = instance
	}
	return confined{scope: &scope}
}

// both are the values that are allowed and, where any are wanted, wanted.
func both(allowed, wanted []string) []string {
	if len(wanted) == 0 {
		return allowed
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(v string) bool { return !slices.Contains(wanted, v) })
}
