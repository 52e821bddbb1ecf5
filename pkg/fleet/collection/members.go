package collection

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

// memberVersion is the only version in which Kubernetes serves the kinds of OfMembers.
const memberVersion = "v1"

// OfMembers returns the kinds that are collected of member clusters: what runs there.
func OfMembers() []pediav1alpha2.ClusterGroupResources {
	return []pediav1alpha2.ClusterGroupResources{
		{Group: "", Resources: []string{"pods", "nodes", "services", "namespaces", "events"}},
		{Group: "apps", Resources: []string{"deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions"}},
		{Group: "batch", Resources: []string{"jobs", "cronjobs"}},
	}
}

// IsOfMembers reports whether a kind is collected of member clusters.
func IsOfMembers(of schema.GroupVersionResource) bool {
	return of.Version == memberVersion && slices.ContainsFunc(OfMembers(), func(g pediav1alpha2.ClusterGroupResources) bool {
		return g.Group == of.Group && slices.Contains(g.Resources, of.Resource)
	})
}

// NamesOfMembers names the kinds of OfMembers for a person.
func NamesOfMembers() string {
	var names []string
	for _, g := range OfMembers() {
		gv := schema.GroupVersion{Group: g.Group, Version: memberVersion}
		names = append(names, strings.Join(g.Resources, ", ")+" of "+gv.String())
	}
	return strings.Join(names, "; ")
}
