package authz

import (
	"slices"
	"strings"
)

// The virtual resource that permissions are about. Nothing is stored under its
// subresources: they exist only in rules.
const (
	apiGroup         = "kairship.io"
	instanceResource = "instances"
)

// The subresources of instances. Where a rule names instances, it names
// "alpha" for objects and "alpha:shop" for namespaces; see question.
const (
	subresourceObjects    = "resources"
	subresourceNamespaces = "namespaces"
	subresourceSecrets    = "secrets"
	subresourceProxy      = "proxy"
	subresourceAccess     = "access"
	// subresourceManagement is the resource of create, update and delete, in place of the instance
	// itself: the global API server would honour a rule on the stored kind too, and a user who may
	// write an Instance can have it read with the credentials of any user.
	subresourceManagement = "management"
)

// facts are questions to which the answer is yes. Each fact is one verb on one
// resource, so that a set of them says exactly what RBAC would.
type facts uint32

const (
	seeInstance facts = 1 << iota
	updateInstance
	deleteInstance

	getObjects
	listObjects
	watchObjects
	createObjects
	updateObjects
	patchObjects
	deleteObjects

	getSecrets

	getProxy
	createProxy
	updateProxy
	patchProxy
	deleteProxy

	getAccess
	createAccess
	updateAccess
	patchAccess
	deleteAccess

	createInstance
)

const (
	objectFacts = getObjects | listObjects | watchObjects | createObjects | updateObjects | patchObjects | deleteObjects
	// namespacedFacts are those that can be true for one namespace.
	namespacedFacts = objectFacts | getSecrets
	accessFacts     = getAccess | createAccess | updateAccess | patchAccess | deleteAccess
	readFacts       = getObjects | listObjects | getSecrets
	// beyondReading are those about objects that a viewer never has.
	beyondReading = createObjects | updateObjects | patchObjects | deleteObjects | getSecrets
)

func (f facts) has(all facts) bool { return f&all == all }

// question is one thing that RBAC can be asked about.
type question struct {
	fact        facts
	subresource string
	verb        string
}

// questions are all of them, each about an instance as a whole.
var questions = []question{
	{seeInstance, "", "get"},
	{updateInstance, subresourceManagement, "update"},
	{deleteInstance, subresourceManagement, "delete"},
	{createInstance, subresourceManagement, "create"},

	{getObjects, subresourceObjects, "get"},
	{listObjects, subresourceObjects, "list"},
	{watchObjects, subresourceObjects, "watch"},
	{createObjects, subresourceObjects, "create"},
	{updateObjects, subresourceObjects, "update"},
	{patchObjects, subresourceObjects, "patch"},
	{deleteObjects, subresourceObjects, "delete"},

	{getSecrets, subresourceSecrets, "get"},

	{getProxy, subresourceProxy, "get"},
	{createProxy, subresourceProxy, "create"},
	{updateProxy, subresourceProxy, "update"},
	{patchProxy, subresourceProxy, "patch"},
	{deleteProxy, subresourceProxy, "delete"},

	{getAccess, subresourceAccess, "get"},
	{createAccess, subresourceAccess, "create"},
	{updateAccess, subresourceAccess, "update"},
	{patchAccess, subresourceAccess, "patch"},
	{deleteAccess, subresourceAccess, "delete"},
}

// namespaceQuestions are those about one namespace of an instance. Objects have
// a subresource of their own there; Secrets share theirs, by the name.
var namespaceQuestions = func() []question {
	var out []question
	for _, q := range questions {
		switch {
		case objectFacts.has(q.fact):
			q.subresource = subresourceNamespaces
		case q.fact != getSecrets:
			continue
		}
		out = append(out, q)
	}
	return out
}()

// namespaceName is the name that a rule gives a namespace of an instance. The
// name of an instance holds no colon, so the first colon ends it.
func namespaceName(instance, namespace string) string { return instance + ":" + namespace }

func cutNamespace(name string) (instance, namespace string, ok bool) {
	return strings.Cut(name, ":")
}

// matchesAny reports whether a list of a rule names a value, or all values.
func matchesAny(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// matchesResource reports whether the resources of a rule cover instances, or a
// subresource of it, as RBAC has it: "*" covers everything, "*/proxy" that
// subresource of everything, and "instances" no subresource. "instances/*" and
// "*/*" look like more and cover nothing but a subresource called "*".
func matchesResource(resources []string, subresource string) bool {
	if subresource == "" {
		return matchesAny(resources, instanceResource)
	}
	return matchesAny(resources, instanceResource+"/"+subresource) || slices.Contains(resources, "*/"+subresource)
}
