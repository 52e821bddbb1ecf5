package projected

import (
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// queryOf is the query for the projection.
func queryOf(q *index.ListQuery) (*projection.Query, error) {
	p := &projection.Query{
		Namespaces: q.Namespaces, Names: q.Names, NameContains: q.NameContains, Selector: q.Selector,
		Limit: q.Limit, WithCount: q.WithCount, Confined: q.Confined, Show: showOf(q), Order: projection.Order{Field: orderOf(q.Order.Field), Desc: q.Order.Desc},
	}
	if only := q.Projected; only != nil {
		p.Health, p.ScheduledTo, p.Images, p.Words = only.Health, only.ScheduledTo, only.Images, only.Words
		p.UID, p.Relevant, p.Drifted = only.UID, only.Relevant, only.Drifted
	}
	p.Instances, p.Scopes = reachOf(q)
	for _, t := range q.Types {
		kind, ok := workload.KindFromGVR(t.GroupVersionResource())
		if !ok {
			return nil, fmt.Errorf("%s is no kind of workload, and has no state to be selected by", t.Kind)
		}
		p.Kinds = append(p.Kinds, string(kind))
	}
	if custom := q.Custom; custom != nil {
		switch {
		case custom.Kinds != nil:
			p.Kinds = append(p.Kinds, custom.Kinds...)
		case len(p.Kinds) == len(workload.Kinds()):
			p.Kinds = nil // Those are all.
		default:
			p.Custom = true
		}
	}
	if q.After != nil {
		after, err := placeOf(q.After)
		if err != nil {
			return nil, err
		}
		p.After = after
	}
	for _, f := range q.Fields {
		if err := narrow(p, f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// reachOf are the instances that a list is read from, as a whole and in part.
func reachOf(q *index.ListQuery) (instances []string, scopes []projection.Scope) {
	for _, cluster := range q.Clusters {
		instances = append(instances, v1alpha1.InstanceOfVirtualCluster(cluster))
	}
	for _, scope := range q.Scopes {
		instance := v1alpha1.InstanceOfVirtualCluster(scope.Cluster)
		if scope.EveryNamespace { // Every workload and every pod has a namespace.
			instances = append(instances, instance)
		} else {
			scopes = append(scopes, projection.Scope{Instance: instance, Namespaces: scope.Namespaces})
		}
	}
	return instances, scopes
}

// showOf is what is read of the workloads of a list. Where their metadata is enough, no one
// asks for their states, unless the list is made by these. The object of a custom one says its type.
func showOf(q *index.ListQuery) projection.Show {
	show := projection.Show{States: q.Detail != index.Metadata || q.Projected != nil || q.Custom != nil, Objects: q.Detail != index.Whole || q.Custom != nil}
	if q.Brief && q.Detail == index.Metadata {
		show.Identities, show.Objects = true, q.Custom != nil
	}
	return show
}

// narrow adds the condition that a field of the template has a value. The projection has
// the labels, and the annotations in which Karmada names the policy.
func narrow(p *projection.Query, f index.FieldEquals) error {
	if len(f.Path) == 3 && f.Path[0] == "metadata" {
		key := f.Path[2]
		if f.Path[1] == "labels" {
			p.Labels = append(p.Labels, key+"="+f.Value)
			return nil
		}
		if p.Policy == nil {
			p.Policy = &projection.Policy{}
		}
		switch key {
		case policyv1alpha1.PropagationPolicyNamespaceAnnotation:
			p.Policy.Namespace = f.Value
			return nil
		case policyv1alpha1.PropagationPolicyNameAnnotation, policyv1alpha1.ClusterPropagationPolicyAnnotation:
			p.Policy.Name = f.Value
			return nil
		}
	}
	return fmt.Errorf("the projection does not have the field %q", f.Path)
}

func orderOf(field index.OrderField) projection.OrderField {
	switch field {
	case index.OrderByName:
		return projection.ByName
	case index.OrderByCreation:
		return projection.ByCreation
	case index.OrderByHealth:
		return projection.ByHealth
	case index.OrderByReady:
		return projection.ByReady
	case index.OrderByRelevance:
		return projection.ByRelevance
	case index.OrderByNamespace, index.OrderByRestarts: // Workloads have no restarts.
	}
	return projection.ByNamespace
}

// partsOf are the parts of a list for the projection.
func partsOf(q *index.ListQuery, parts []index.Part) ([]projection.Part, error) {
	label := ""
	ofMembers := q.OfPods() && slices.Equal(q.PartField, index.PodCluster)
	if f := q.PartField; len(f) > 0 && !ofMembers {
		if len(f) != 3 || f[0] != "metadata" || f[1] != "labels" {
			return nil, fmt.Errorf("the projection does not have the field %q", f)
		}
		label = f[2] + "="
	}
	all := make([]projection.Part, len(parts))
	for i, part := range parts {
		all[i].Instance = v1alpha1.InstanceOfVirtualCluster(part.Cluster)
		if ofMembers {
			all[i].Cluster = part.Value
		}
		if label != "" {
			all[i].Label = label + part.Value
		}
		for _, scope := range q.Scopes {
			if scope.Cluster == part.Cluster && !scope.EveryNamespace {
				all[i].Namespaces = append([]string{}, scope.Namespaces...)
			}
		}
	}
	return all, nil
}
