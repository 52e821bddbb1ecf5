// Package permission lists the permission that each root field of the schema requires, for
// the role reference. It checks nothing: the guard of a field and the services that
// resolvers call do. A test fails for a root field without a line, and for one whose guard
// says otherwise; the suite test/escalation calls each mutation with each role.
package permission

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// Place is where a permission is asked for.
type Place string

// The places.
const (
	// Nowhere: the field is for each caller with valid credentials.
	Nowhere Place = "nowhere"
	// Instance: the instance as a whole.
	Instance Place = "instance"
	// Wide: objects of the instance without a namespace.
	Wide Place = "wide"
	// NamespaceItself: objects without a namespace, and the namespace that is meant.
	NamespaceItself Place = "namespace itself"
	// Namespaced: the namespace of the object.
	Namespaced Place = "namespaced"
	// Object: the namespace of the object, or objects without one.
	Object Place = "object"
)

// Right is a verb on a resource. The group is Kairship's in the global cluster.
type Right struct{ Verb, Group, Resource string }

// Field is what a root field asks for.
type Field struct {
	In Place
	// Verbs are what the roles on the instance have to permit there. Without any, the
	// caller only has to see the instance.
	Verbs []authz.Verb
	// Global are rights that the global cluster is asked about besides.
	Global []Right
	// Inside are rights that the caller needs by the access rules of the instance itself,
	// whatever object the input names. What it asks for the kind of an object that the
	// input chooses is not among them.
	Inside []Right
	// Depends says what some inputs ask for besides.
	Depends string
}

// Role is a role on a whole instance, or in namespaces of it.
type Role struct {
	v1alpha1.Role

	Namespaced bool
}

// Roles returns all of them.
func Roles() []Role {
	var all []Role
	for _, namespaced := range []bool{false, true} {
		for _, role := range v1alpha1.Roles() {
			all = append(all, Role{role, namespaced})
		}
	}
	return all
}

// Extent is where a role has a permission.
type Extent int

// The extents.
const (
	None Extent = iota
	// NotReserved: everywhere that the role is about but in reserved namespaces.
	NotReserved
	Everywhere
)

// Of returns where a role has what the field asks for.
func (f *Field) Of(role Role) (Extent, error) {
	const name, ordinary = "alpha", "shop"
	var namespaces []string
	if role.Namespaced {
		namespaces = []string{ordinary}
	}
	rules := roles.Global(role.Role, name, namespaces)
	for _, right := range f.Global {
		if !roles.Allow(rules, right.Verb, v1alpha1.GroupName, right.Resource) {
			return None, nil // No role has one without the name of an object.
		}
	}
	inside, err := roles.InInstance(role.Role, role.Namespaced, f.In == Namespaced || f.In == Object)
	if err != nil {
		return None, err
	}
	for _, right := range f.Inside {
		if !roles.Allow(inside, right.Verb, right.Group, right.Resource) {
			return None, nil
		}
	}
	grant := authz.GrantOf(rules, name)
	if !grant.ViewerCan().View {
		return None, nil
	}
	// Where the verbs are asked for, and where else where a role on the whole instance is about.
	asked, reserved := []string{""}, ""
	switch f.In {
	case Namespaced, Object:
		asked = []string{ordinary}
	case NamespaceItself:
		asked = append(asked, ordinary)
	case Nowhere, Instance, Wide:
	}
	if slices.Contains(asked, ordinary) && !role.Namespaced {
		reserved = roles.ReservedPatterns()[0]
	}
	extent := Everywhere
	for _, verb := range f.Verbs {
		if slices.ContainsFunc(asked, func(namespace string) bool { return !grant.Can(verb, namespace) }) {
			return None, nil
		}
		if reserved != "" && !grant.Can(verb, reserved) {
			extent = NotReserved
		}
	}
	return extent, nil
}
