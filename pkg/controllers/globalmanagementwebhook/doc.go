// Package globalmanagementwebhook receives role bindings on instances from global management, the
// platform's identity and access management, and stores them as InstanceRoleBindings. The protocol
// is package globalmanagement.
//
// Every replica serves it, the leader or not: it only stores, and the controller of
// InstanceRoleBindings, which the leader runs, converts the bindings into access rules. Replicas
// need not know of each other, because a binding is written only in the version it was read in, and
// only by an event with a higher sequence than the stored one.
package globalmanagementwebhook

// Name of the controller: in logs and as owner of its fields.
const Name = "global-management-webhook"

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings,verbs=get;list;create;update
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list
// +kubebuilder:rbac:groups="",resources=secrets,namespace=kairship-system,verbs=get
