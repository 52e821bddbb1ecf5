// Package passthrough serves the Kubernetes API of instances below
// /instances/{instance}/proxy/, for unmodified clients: kubectl, informers,
// operators, exec and port-forward.
//
// It looks into no body but a refusal's, to whose message it adds which API server
// refused. What comes in goes out as it came, as a stream, with three changes: the
// address, the credentials, and who the request is from. The
// caller's own credentials end here; the instance sees Kairship's, and the caller
// as the impersonated user, so its RBAC, its admission and its audit log see the
// person.
//
// # Who may
//
// The caller is whom the global cluster says (package authz), and needs the verb
// of the request's method on the virtual resource instances/proxy: get, create,
// update, patch, delete. Namespaces play no part in that: a user who has a role in
// some namespaces of an instance may use the passthrough, and the instance, where
// the role is bound to these namespaces, refuses the rest. An instance that the
// caller may not see answers like one that does not exist.
//
// Impersonate headers that a caller brings are honoured for those who may
// impersonate in the global cluster, as by any apiserver: the request then is the
// impersonated user's in every respect, the permission to use the passthrough
// included. Everybody else is refused.
//
// What lasts, watches, logs that are followed, exec sessions, is decided again
// every few seconds, and ends when the caller lost the permission or the
// credentials.
//
// # Errors
//
// Kairship's own errors are Kubernetes Status objects, so that kubectl prints
// them. Their code (package apierror) is the reason of the first cause, and the
// header Kairship-Error-Code.
package passthrough
