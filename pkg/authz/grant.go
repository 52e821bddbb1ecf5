package authz

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// Verb is something that a user may do with an instance or with what is in it.
type Verb int

// The verbs that are about objects in a namespace, or without one.
const (
	// VerbView reads objects: get and list, which are one thing for the index.
	VerbView Verb = iota
	// VerbWatch follows objects live. It includes VerbView, because a watch begins
	// with what is there.
	VerbWatch
	// VerbCreate creates objects.
	VerbCreate
	// VerbUpdate changes objects: update and patch, because mutations do either.
	VerbUpdate
	// VerbDelete deletes objects.
	VerbDelete
	// VerbReadSecrets reads the values of Secrets. It includes VerbView.
	VerbReadSecrets
)

// The verbs that are about an instance as a whole.
const (
	// VerbProxy reads through the native passthrough. For what else may be sent
	// through it, see Grant.CanProxy.
	VerbProxy Verb = iota + 100
	// VerbManageAccess permits to change the roles of users on the instance.
	VerbManageAccess
	// VerbUpdateInstance changes the Instance itself.
	VerbUpdateInstance
	// VerbDeleteInstance deletes the Instance itself.
	VerbDeleteInstance
	// VerbCreateInstance makes an Instance of that name.
	VerbCreateInstance
)

var verbNames = map[Verb]string{
	VerbView: "view", VerbWatch: "watch", VerbCreate: "create", VerbUpdate: "update", VerbDelete: "delete",
	VerbReadSecrets: "readSecrets", VerbProxy: "proxy", VerbManageAccess: "manageAccess",
	VerbUpdateInstance: "updateInstance", VerbDeleteInstance: "deleteInstance", VerbCreateInstance: "createInstance",
}

// String names the verb for logs.
func (v Verb) String() string { return verbNames[v] }

// Verbs returns all verbs, in order.
func Verbs() []Verb { return slices.Sorted(maps.Keys(verbNames)) }

// Needed is a verb on a virtual resource of the global cluster.
type Needed struct{ Verb, Resource string }

// Needs returns what a verb takes in the global cluster on an instance as a whole.
func (v Verb) Needs() []Needed {
	var out []Needed
	for _, q := range questions {
		if needs[v].has(q.fact) {
			out = append(out, Needed{q.verb, instanceResource + "/" + q.subresource})
		}
	}
	return out
}

// needs are the facts that have to hold for a verb, each separately.
var needs = map[Verb]facts{
	VerbView:           getObjects | listObjects,
	VerbWatch:          getObjects | listObjects | watchObjects,
	VerbCreate:         createObjects,
	VerbUpdate:         updateObjects | patchObjects,
	VerbDelete:         deleteObjects,
	VerbReadSecrets:    getObjects | listObjects | getSecrets,
	VerbProxy:          getProxy,
	VerbManageAccess:   accessFacts,
	VerbUpdateInstance: updateInstance,
	VerbDeleteInstance: deleteInstance,
	VerbCreateInstance: createInstance,
}

// proxyFacts are the facts of the verbs that Kubernetes gives a request.
var proxyFacts = map[string]facts{
	"get": getProxy, "list": getProxy, "watch": getProxy,
	"create": createProxy, "update": updateProxy, "patch": patchProxy,
	"delete": deleteProxy, "deletecollection": deleteProxy,
}

// Grant is what one user may do on one instance. The zero Grant permits
// nothing. Nothing is permitted on an instance that may not be seen, whatever
// else the rules say.
type Grant struct {
	// whole holds for the instance as a whole, every for each of its namespaces,
	// namespaces for single ones. The map is shared and never written to.
	whole, every facts
	namespaces   map[string]facts
}

// visible reports whether the user may know of the instance.
func (g Grant) visible() bool { return g.whole.has(seeInstance) }

// Can reports whether the user may use a verb in a namespace of the instance; namespace "" means
// objects that have none. The namespace is ignored for verbs on the instance as a whole. In a
// reserved namespace only users who manage the access to the instance may write or read Secrets.
func (g Grant) Can(verb Verb, namespace string) bool {
	need, known := needs[verb]
	if !known || !g.visible() {
		return false
	}
	have := g.whole
	if namespace != "" {
		// These hold object facts only, so they add nothing to verbs about the whole.
		have |= g.every | g.namespaces[namespace]
	}
	if need&beyondReading != 0 && roles.Reserved(namespace) {
		// The instance decides so too: see package roles.
		need |= accessFacts
	}
	return have.has(need)
}

// CanRead reports whether the user may read what is in a namespace of the
// instance; namespace "" stands for objects that have none.
func (g Grant) CanRead(namespace string) bool { return g.Can(VerbView, namespace) }

// CanProxy reports whether the user may send a request with a verb of Kubernetes,
// for example "patch", through the native passthrough. An unknown verb may not be sent.
func (g Grant) CanProxy(verb string) bool {
	need, known := proxyFacts[verb]
	return known && g.visible() && g.whole.has(need)
}

// Reach is the part of an instance in which a verb is allowed. The zero Reach is nowhere.
type Reach struct {
	// Everything is all objects, with and without namespace.
	Everything bool
	// EveryNamespace is all objects that have a namespace. It is always set when Everything is.
	EveryNamespace bool
	// Namespaces are the single namespaces, in order, when EveryNamespace is not set.
	Namespaces []string
}

// None reports whether the verb is allowed nowhere.
func (r Reach) None() bool { return !r.EveryNamespace && len(r.Namespaces) == 0 }

// Reach returns where a verb on objects is allowed. For a verb on the instance as a whole it
// returns everything or nothing.
func (g Grant) Reach(verb Verb) Reach {
	need, known := needs[verb]
	switch {
	case !known || !g.visible():
		return Reach{}
	case g.whole.has(need):
		return Reach{Everything: true, EveryNamespace: true}
	case (g.whole | g.every).has(need):
		return Reach{EveryNamespace: true}
	}
	var r Reach
	for name := range g.namespaces {
		if g.Can(verb, name) {
			r.Namespaces = append(r.Namespaces, name)
		}
	}
	slices.Sort(r.Namespaces)
	return r
}

// Namespaces returns which namespaces of the instance may be read: all of them, or
// those that are named, in order. Objects without namespace are not meant; see
// CanRead.
func (g Grant) Namespaces() (names []string, all bool) {
	r := g.Reach(VerbView)
	return r.Namespaces, r.EveryNamespace
}

// Key stands for everything that the grant permits: two grants with the same key
// permit the same. It stays the same over restarts and replicas, so it may
// become part of a cursor's identity.
func (g Grant) Key() string {
	h := sha256.New()
	if g.visible() {
		writeCount(h, int(g.whole))
		writeCount(h, int(g.every))
		for _, name := range slices.Sorted(maps.Keys(g.namespaces)) {
			// What holds anyway makes no difference.
			if more := g.namespaces[name] &^ (g.whole | g.every); more != 0 {
				writePart(h, name)
				writeCount(h, int(more))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// readingFacts are those that decide what a stream carries.
const readingFacts = seeInstance | getObjects | listObjects | watchObjects | getSecrets

// ReadingKey is Key of what the grant permits to read.
func (g Grant) ReadingKey() string { return g.forReading().Key() }

// forReading is what the grant permits to read, and nothing else.
func (g Grant) forReading() Grant {
	g.whole &= readingFacts
	g.every &= readingFacts
	namespaces := make(map[string]facts, len(g.namespaces))
	for name, f := range g.namespaces {
		namespaces[name] = f & readingFacts
	}
	g.namespaces = namespaces
	return g
}

// Covers reports whether the grant permits everything that another one on the same instance does.
func (g Grant) Covers(other Grant) bool {
	if !other.visible() {
		return true
	}
	if !g.visible() || !g.whole.has(other.whole) || !(g.whole | g.every).has(other.every) {
		return false
	}
	for name, f := range other.namespaces {
		if !(g.whole | g.every | g.namespaces[name]).has(f) {
			return false
		}
	}
	return true
}
