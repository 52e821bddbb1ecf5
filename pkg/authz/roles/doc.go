// Package roles defines the roles viewer, editor and admin: their descriptions, their RBAC rules in
// the global cluster, and their ClusterRoles in an instance. It writes nothing; the controllers do.
//
// # In the global cluster
//
// The rules are about virtual resources of group kairship.io, which package
// authz asks about. Every rule names its instance, so no rule can ever be about
// another one.
//
// # Inside an instance
//
// Writes reach an instance as the user who makes them, so the instance needs the roles too. Each is
// a ClusterRole that Kubernetes aggregates from ours about Kubernetes' and Karmada's kinds, from
// what operators add to Kubernetes' edit and admin for kinds of their own, and from any that an
// administrator of the instance labels:
//
//	kairship.io/aggregate-to-viewer, -editor, -admin: "true"
//
// The rules that Kubernetes or Karmada put into view and edit themselves are not included: Karmada
// adds Works and ResourceBindings to them, and its labels are Kubernetes' own. A Work contains the
// Secrets that it propagates, and Karmada applies its manifests in the members with Karmada's own
// permissions. The admin of a whole instance has all of these rules.
//
// Bindings to single namespaces use variants of editor and admin that may not write Namespaces and
// quotas: a user who edits the objects of a namespace may neither delete the namespace itself, nor
// change its labels and limits, as in Kubernetes.
//
// Editors may write override policies only where package overrides limits these, and Namespaces
// only where reservedPolicy excludes the reserved ones.
package roles
