package projector

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// concern is what a change concerns: workloads by name, or by what a condition finds, or
// a member cluster.
type concern struct {
	workloads []projection.WorkloadKey
	// affected finds workloads. Of a Work it is one, of a policy or a member any number.
	affected *projection.Affected
	member   *projection.MemberKey
}

// concernOf returns what a change concerns, by its name alone: of an object that was
// deleted, the name is all that is left. joined are the instances of member clusters.
func concernOf(c *projection.Change, joined map[string]projection.Collection) concern {
	instance := v1alpha1.InstanceOfVirtualCluster(c.Cluster)
	if c.Group == projection.WorkloadGroup {
		return concern{workloads: []projection.WorkloadKey{{Instance: instance, Namespace: c.Namespace, Name: c.Name, Kind: c.Resource}}}
	}
	resource := schema.GroupVersionResource{Group: c.Group, Resource: c.Resource}
	if kind, ok := workload.KindFromGVR(resource); ok {
		if instance == "" {
			// The object in a member, which a workload of the same name is the template of.
			instance = joined[c.Cluster].Instance
		}
		if instance == "" {
			return concern{}
		}
		return concern{workloads: []projection.WorkloadKey{{Instance: instance, Namespace: c.Namespace, Name: c.Name, Kind: string(kind)}}}
	}
	if instance == "" {
		return concern{}
	}
	is := func(t index.Type) bool { return t.Group == c.Group && t.Resource == c.Resource }
	switch {
	case is(index.ResourceBindings):
		// Of a custom workload, the name alone does not say the kind; see concernsOf.
		for _, kind := range workload.Kinds() {
			if name, ok := kind.OfBinding(c.Name); ok {
				return concern{workloads: []projection.WorkloadKey{{Instance: instance, Namespace: c.Namespace, Name: name, Kind: string(kind)}}}
			}
		}
	case is(index.Works):
		if _, ok := workload.ClusterOfExecutionNamespace(c.Namespace); ok {
			return concern{affected: &projection.Affected{Instance: instance, Work: c.Name}}
		}
	case is(index.PropagationPolicies), is(index.ClusterPropagationPolicies):
		return concern{affected: &projection.Affected{Instance: instance, PolicyNamespace: c.Namespace, PolicyName: c.Name}}
	case is(index.OverridePolicies):
		// Which workloads a policy selected before its change, nothing says any more.
		return concern{affected: &projection.Affected{Instance: instance, Namespace: c.Namespace}}
	case is(index.ClusterOverridePolicies), is(index.ResourceInterpreterCustomizations):
		return concern{affected: &projection.Affected{Instance: instance, All: true}}
	case is(index.MemberClusters):
		return concern{member: &projection.MemberKey{Instance: instance, Name: c.Name}}
	}
	return concern{}
}

// concerns is the set of workloads that several changes affect.
type concerns struct {
	workloads map[projection.WorkloadKey]bool
	members   map[projection.MemberKey]bool
	// many find workloads that are computed later, because there may be any number.
	many []projection.Affected
}

// concernsOf joins what changes concern. The workloads of Works are looked up.
func concernsOf(s *projection.Snapshot, changes []projection.Change, joined map[string]projection.Collection) (*concerns, error) {
	all := &concerns{workloads: map[projection.WorkloadKey]bool{}, members: map[projection.MemberKey]bool{}}
	seen := map[projection.Affected]bool{}
	custom, err := customOf(s, changes)
	if err != nil {
		return nil, err
	}
	for _, key := range custom {
		all.workloads[key] = true
	}
	for i := range changes {
		c := concernOf(&changes[i], joined)
		for _, key := range c.workloads {
			all.workloads[key] = true
		}
		if c.member != nil {
			all.members[*c.member] = true
		}
		if c.affected == nil || seen[*c.affected] {
			continue
		}
		seen[*c.affected] = true
		if c.affected.Work == "" {
			all.many = append(all.many, *c.affected)
			continue
		}
		keys, err := s.Affected(c.affected)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			all.workloads[key] = true
		}
	}
	return all, nil
}

// customOf finds the custom workloads that changes of bindings and of templates concern: the bindings
// themselves say their kinds, or the rows that there are.
func customOf(s *projection.Snapshot, changes []projection.Change) ([]projection.WorkloadKey, error) {
	var bindings, templates []projection.ResourceKey
	for i := range changes {
		c := &changes[i]
		key := projection.ResourceKey{Cluster: c.Cluster, Group: c.Group, Resource: c.Resource, Namespace: c.Namespace, Name: c.Name}
		switch {
		case v1alpha1.InstanceOfVirtualCluster(c.Cluster) == "":
		case c.Group == index.ResourceBindings.Group && c.Resource == index.ResourceBindings.Resource:
			key.Version = index.ResourceBindings.Version
			bindings = append(bindings, key)
		case workload.CustomGroup(c.Group):
			templates = append(templates, key)
		}
	}
	found, err := s.CustomOf(bindings, templates)
	return slices.DeleteFunc(found, func(key projection.WorkloadKey) bool { return !workload.Kind(key.Kind).Valid() }), err
}
