// Package v1alpha1 holds Kairship's own custom resources: Instance, one Karmada
// control plane; Cluster, one entry of the inventory; InstanceRegistration, what
// an instance looks like to global management; and InstanceRoleBinding, who has
// which role on an instance. All are cluster-scoped and live in the global
// cluster.
//
// What a field means to a person, its unit, default and validation are in its
// doc comment, which is also what `kubectl explain` shows; docs/ has a
// page with examples for each.
//
// +kubebuilder:object:generate=true
// +groupName=kairship.io
package v1alpha1
