// Package globalmanagementwebhook receives from global management, the platform's
// identity and access management, who has which role on which instance, and
// stores it as InstanceRoleBindings. The protocol is package globalmanagement.
//
// It is served by every replica, the leader or not: it only stores, and the
// controller of InstanceRoleBindings, which the leader runs, turns what is stored
// into access rules. Replicas need not know of each other, because a binding is
// written only in the version it was read in, and only by an event with a higher
// sequence than the stored one.
package globalmanagementwebhook

// Name of the controller: in logs and as owner of its fields.
const Name = "global-management-webhook"

// What the controller may do; the chart's role is generated from it.
// +kubebuilder:rbac:groups=kairship.io,resources=instancerolebindings,verbs=get;list;create;update
// +kubebuilder:rbac:groups=kairship.io,resources=instances,verbs=get;list
// +kubebuilder:rbac:groups="",resources=secrets,namespace=kairship-system,verbs=get
