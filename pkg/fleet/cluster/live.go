package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
)

// Change is an event of a subscription to the inventory.
type Change = changes.Event[*Cluster]

// Fields are the fields of a cluster that are in its resource and can change.
func Fields() []changes.Field[*Cluster] {
	return []changes.Field[*Cluster]{
		{Name: "alias", Of: func(c *Cluster) any { return c.Alias() }},
		{Name: "type", Of: func(c *Cluster) any { return c.Type() }},
		{Name: "hidden", Of: func(c *Cluster) any { return c.Hidden() }},
		{Name: "apiEndpoint", Of: func(c *Cluster) any { return c.APIEndpoint() }},
		{Name: "provider", Of: func(c *Cluster) any { return c.Provider() }},
		{Name: "region", Of: func(c *Cluster) any { return c.Region() }},
		{Name: "zone", Of: func(c *Cluster) any { return c.Zone() }},
		{Name: "instance", Of: func(c *Cluster) any { return c.InstanceName() }},
		{Name: "conditions", Of: func(c *Cluster) any { return c.Conditions() }},
		{Name: "kubernetesVersion", Of: func(c *Cluster) any { return c.KubernetesVersion() }},
		{Name: "kubeSystemID", Of: func(c *Cluster) any { return c.KubeSystemID() }},
		{Name: "credentialsExpireTime", Of: func(c *Cluster) any { return c.CredentialsExpireTime() }},
		{Name: "summary", Of: func(c *Cluster) any { return c.Summary() }},
		{Name: "resourceVersion", Of: func(c *Cluster) any { return c.Cluster.ResourceVersion }},
		{Name: "manifest", Of: func(c *Cluster) any { return c.Cluster.ResourceVersion }},
		{Name: "yaml", Of: func(c *Cluster) any { return c.Cluster.ResourceVersion }},
		{Name: "labels", Of: func(c *Cluster) any { return c.LabelPairs() }},
	}
}

// Matcher returns a function that reports whether a list with the filter has a cluster. Its errors
// name the argument.
func (f *Filter) Matcher() (func(*Cluster) bool, error) {
	if f == nil {
		f = &Filter{}
	}
	named, err := f.listing().MemoryMatcher()
	if err != nil {
		return nil, err
	}
	return func(c *Cluster) bool { return named(metav1.Object(c.Cluster)) && f.matches(c) }, nil
}

func (f *Filter) listing() listing.Filter {
	return listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

func (f *Filter) matches(c *Cluster) bool {
	return (f.IncludeHidden || !c.Hidden()) &&
		(f.Type == nil || slices.Contains(f.Type, c.Type())) &&
		(f.Instances == nil || slices.Contains(f.Instances, c.InstanceName())) &&
		f.PropertyFilter.Matches(c.properties())
}
