package collection

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

// memberVersion is the version of the kinds that are collected of member clusters without one.
const memberVersion = "v1"

// Asked are the kinds that the collector is asked to collect of a member cluster; those of every
// member where it has not been asked yet.
func Asked(ctx context.Context, watched client.Reader, cluster string) (Kinds, error) {
	var pc pediav1alpha2.PediaCluster
	found, err := get(ctx, watched, cluster, &pc)
	if err != nil || !found {
		return OfMembers(), err
	}
	return pc.Spec.SyncResources, nil
}

// Kinds are kinds of objects that are collected.
type Kinds []pediav1alpha2.ClusterGroupResources

// Has reports whether a kind is among them.
func (k Kinds) Has(of schema.GroupVersionResource) bool {
	return slices.ContainsFunc(k, func(g pediav1alpha2.ClusterGroupResources) bool {
		return g.Group == of.Group && slices.Contains(g.Resources, of.Resource) && versionOf(&g) == of.Version
	})
}

// All returns each of them.
func (k Kinds) All() []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for i := range k {
		for _, resource := range k[i].Resources {
			all = append(all, schema.GroupVersionResource{Group: k[i].Group, Version: versionOf(&k[i]), Resource: resource})
		}
	}
	return all
}

// String names them for a person.
func (k Kinds) String() string {
	names := make([]string, len(k))
	for i := range k {
		names[i] = strings.Join(k[i].Resources, ", ") + " of " + schema.GroupVersion{Group: k[i].Group, Version: versionOf(&k[i])}.String()
	}
	return strings.Join(names, "; ")
}

func versionOf(g *pediav1alpha2.ClusterGroupResources) string {
	if len(g.Versions) > 0 {
		return g.Versions[0]
	}
	return memberVersion
}
