package membercluster

import (
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Change is an event of a subscription to member clusters.
type Change = changes.Event[*MemberCluster]

// ChangeFilter says which member clusters to follow.
type ChangeFilter struct {
	Instances     []string
	Name          []string
	NameContains  *string
	LabelSelector *string
}

// Fields are the fields of a member cluster that are in Karmada's object and can change.
func Fields() []changes.Field[*MemberCluster] {
	return append(changes.ObjectFields(func(m *MemberCluster) *object.Object { return &m.Object }), []changes.Field[*MemberCluster]{
		{Name: "managed", Of: func(m *MemberCluster) any { return m.Managed() }},
		{Name: "syncMode", Of: func(m *MemberCluster) any { return m.SyncMode() }},
		{Name: "apiEndpoint", Of: func(m *MemberCluster) any { return m.APIEndpoint() }},
		{Name: "provider", Of: func(m *MemberCluster) any { return m.Provider() }},
		{Name: "region", Of: func(m *MemberCluster) any { return m.Region() }},
		{Name: "zones", Of: func(m *MemberCluster) any { return m.Zones() }},
		{Name: "ready", Of: func(m *MemberCluster) any { return m.Ready() }},
		{Name: "conditions", Of: func(m *MemberCluster) any { return m.Conditions() }},
		{Name: "kubernetesVersion", Of: func(m *MemberCluster) any { return m.KubernetesVersion() }},
		{Name: "taints", Of: func(m *MemberCluster) any { return m.Taints() }},
		{Name: "nodes", Of: func(m *MemberCluster) any { return m.Nodes() }},
		{Name: "cpu", Of: func(m *MemberCluster) any { return m.CPU() }},
		{Name: "memory", Of: func(m *MemberCluster) any { return m.Memory() }},
		{Name: "pods", Of: func(m *MemberCluster) any { return m.Pods() }},
	}...)
}

// Listing is the part of the filter that all nouns have.
func (f *ChangeFilter) Listing() listing.Filter {
	if f == nil {
		return listing.Filter{}
	}
	return listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Of are the instances of the filter; nil for all.
func (f *ChangeFilter) Of() []string {
	if f == nil {
		return nil
	}
	return f.Instances
}
