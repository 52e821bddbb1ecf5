// Package v1alpha1 defines Kairship's own custom resources: Instance, one Karmada control
// plane; Cluster, one entry of the inventory; InstanceRegistration, the registration
// of an instance with global management; and InstanceRoleBinding, a role of a user
// or group on an instance. All are cluster-scoped and live in the global cluster.
// Programs outside of this repository may import this package.
//
// What a field means to a person, its unit, default and validation are in its
// doc comment, which is also what `kubectl explain` shows; docs/ has a
// page with examples for each.
//
// +kubebuilder:object:generate=true
// +groupName=kairship.io
package v1alpha1
