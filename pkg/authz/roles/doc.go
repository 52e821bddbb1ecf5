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
// know the roles too. Each is a ClusterRole that Kubernetes aggregates from its
// own role of the same rank, from ours about Karmada's kinds, and from any that
// an administrator of the instance labels, for kinds that neither knows:
//
//	kairship.io/aggregate-to-viewer, -editor, -admin: "true"
//
// viewer does not take over everything that is aggregated to Kubernetes' view,
// but only what Kubernetes itself puts there. Karmada adds Works to view, and a
// Work holds the Secrets that it propagates, which a viewer may not read.
//
// Bindings to single namespaces use variants of editor and admin that may not
// write Namespaces and quotas: whoever edits what is in a namespace may neither
// delete the namespace itself, nor change its labels and limits, as in Kubernetes.
package roles
