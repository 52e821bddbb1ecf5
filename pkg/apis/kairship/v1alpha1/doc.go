// Package v1alpha1 holds Kairship's own custom resources: Instance, one Karmada
// control plane, and Cluster, one entry of the inventory. Both are
// cluster-scoped and live in the global cluster.
//
// What a field means to a person, its unit, default and validation are in its
// doc comment, which is also what `kubectl explain` shows; docs/instance.md and
// docs/cluster.md add examples.
//
// +kubebuilder:object:generate=true
// +groupName=kairship.io
package v1alpha1
