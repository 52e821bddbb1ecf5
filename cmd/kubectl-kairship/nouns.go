package main

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/client"
)

// noun is a kind of objects that a method lists.
type noun struct {
	// name is in the plural, as users write it.
	name   string
	method protoreflect.MethodDescriptor
	// resource is what is listed of the kinds that have no method of their own.
	resource *schema.GroupVersionResource
}

// short are other names of nouns.
var short = map[string]string{
	"wl": "workloads", "workload": "workloads", "po": "pods", "pod": "pods", "instance": "instances", "cluster": "clusters", "mc": "memberclusters",
	"membercluster": "memberclusters", "no": "clusternodes", "nodes": "clusternodes", "ns": "namespaces", "namespace": "namespaces",
	"pp": "propagationpolicies", "cpp": "clusterpropagationpolicies", "op": "overridepolicies", "cop": "clusteroverridepolicies", "image": "images",
	"quota": "federatedresourcequotas", "fhpa": "federatedhpas", "mcs": "multiclusterservices",
}

// elsewhere are lists that are no nouns of their own: the same objects of one instance, or of one object.
var elsewhere = []string{
	"ListInstanceWorkloads", "ListInstancePods", "ListInstanceResources", "ListMemberClusterResources", "ListMemberClusterWorkloads", "ListMemberClusterServices",
	"ListMemberClusterIngresses", "ListMemberClusterNamespaces", "ListMemberClusterEvents", "ListMemberClusterPods",
}

// nouns are those of the API: what is listed over all instances, or in one instance.
func nouns() (all []noun) {
	methods := client.Service().Methods()
	for i := range methods.Len() {
		method := methods.Get(i)
		name, lists := strings.CutPrefix(string(method.Name()), "List")
		if !lists || slices.Contains(elsewhere, string(method.Name())) || nodesOf(method) == nil || ofOneObject(method) {
			continue
		}
		all = append(all, noun{name: strings.ToLower(name), method: method})
	}
	slices.SortFunc(all, func(a, b noun) int { return strings.Compare(a.name, b.name) })
	return all
}

// nodesOf is the field with the objects of a list.
func nodesOf(method protoreflect.MethodDescriptor) protoreflect.FieldDescriptor {
	result := method.Output().Fields().ByName("result")
	if result == nil || result.Message() == nil {
		return nil
	}
	return result.Message().Fields().ByName("nodes")
}

// ofOneObject reports whether a list is about one object, which has to be named, or about one kind of resources.
func ofOneObject(method protoreflect.MethodDescriptor) bool {
	return single(method, "name") || single(method, "kind") || single(method, "resource") ||
		strings.HasSuffix(string(method.Name()), "Timeline")
}

// single reports whether the request of a method has a field with one value.
func single(method protoreflect.MethodDescriptor, name protoreflect.Name) bool {
	field := method.Input().Fields().ByName(name)
	return field != nil && !field.IsList()
}

// resourceOf reads a kind as kubectl names it with its version: configmaps.v1, deployments.v1.apps.
func resourceOf(name string) *schema.GroupVersionResource {
	resource, rest, ok := strings.Cut(name, ".")
	if !ok || !strings.HasPrefix(rest, "v") {
		return nil
	}
	version, group, _ := strings.Cut(rest, ".")
	return &schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// findNoun returns the noun of a name.
func findNoun(name string) (noun, error) {
	name = strings.ToLower(name)
	if long, ok := short[name]; ok {
		name = long
	}
	all := nouns()
	var names []string
	for _, n := range all {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	if of := resourceOf(name); of != nil {
		return noun{name: of.Resource, method: client.Service().Methods().ByName("ListResources"), resource: of}, nil
	}
	return noun{}, fmt.Errorf("there is no noun %q; there are %s, and all kinds that are collected, such as configmaps.v1 or deployments.v1.apps", name, strings.Join(names, ", "))
}
