// Package passthrough serves the Kubernetes API of instances below
// /instances/{instance}/proxy/, for unmodified clients: kubectl, informers,
// operators, exec and port-forward.
//
// It reads no body except those of refusals, to whose message it adds which API server refused.
// Requests are passed on as a stream, with three changes: the address, the credentials, and the
// identity. The caller's own credentials end here; the instance sees Kairship's, and the caller as
// the impersonated user, so its RBAC, its admission and its audit log see the caller.
//
// # Permissions
//
// The global cluster authenticates the caller (package authz), who needs the verb of the request's
// method on the virtual resource instances/proxy: get, create, update, patch, delete. Sessions (exec,
// attach, port-forward) take create, although a WebSocket opens them by GET. Namespaces do not matter
// for that: a user who has a role in some namespaces of an instance may use the passthrough, and the
// instance, where the role is bound to these namespaces, refuses the rest. An instance that the caller
// may not see answers like one that does not exist.
//
// Impersonate headers of a request are honoured for callers who may impersonate in the global
// cluster, as by any API server: the request then is the impersonated user's in every respect,
// including the permission to use the passthrough. All other callers with such headers are refused.
//
// Long-running requests (watches, followed logs, exec sessions) are authorized again every few
// seconds, and end when the caller has lost the permission or the credentials.
//
// # Errors
//
// Kairship's own errors are Kubernetes Status objects, so that kubectl prints
// them. Their code (package apierror) is the reason of the first cause, and the
// header Kairship-Error-Code.
package passthrough
