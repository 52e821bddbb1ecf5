// Package roles says what the roles viewer, editor and admin are: in words, as
// RBAC rules in the global cluster, and as ClusterRoles inside an instance. It
// does nothing; the controllers write what is said here.
//
// # In the global cluster
//
// The rules are about virtual resources of group kairship.io, which package
// authz asks about. Every rule names its instance, so no rule can ever be about
// another one.
//
// # Inside an instance
//
// Writes reach an instance as the person who makes them, so the instance has to
// know the roles too. Each is a ClusterRole that Kubernetes aggregates from ours about
// Kubernetes' and Karmada's kinds, from what operators add to Kubernetes' edit and admin
// for kinds of their own, and from any that an administrator of the instance labels:
//
//	kairship.io/aggregate-to-viewer, -editor, -admin: "true"
//
// Nothing is taken over that Kubernetes or Karmada put into view and edit themselves:
// Karmada adds Works and ResourceBindings to them, and its labels are Kubernetes' own. A
// Work holds the Secrets that it propagates, and Karmada applies what it says in the
// members with rights of its own. The admin of a whole instance has all of it.
//
// Bindings to single namespaces use variants of editor and admin that may not
// write Namespaces and quotas: a user who edits what is in a namespace may neither
// delete the namespace itself, nor change its labels and limits, as in Kubernetes.
//
// Editors write override policies only where package overrides limits these, and
// Namespaces only where ReservedPolicy leaves out the reserved ones.
package roles
