// Package v1alpha2 has the Go types of Clusterpedia's PediaCluster as version 0.9 serves
// it. The published Go types of Clusterpedia's API are older: they lack the references
// to Secrets and the phase of the first list, and a client that uses them loses both.
// deploy/local installs the CustomResourceDefinition, and package apitest has tests use
// the same.
//
// Kairship does not define this API, so no CRD is generated of it.
//
// +kubebuilder:object:generate=true
// +kubebuilder:skip
package v1alpha2
