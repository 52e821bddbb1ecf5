// Package binding implements the GraphQL type of Karmada's ResourceBindings.
package binding

import (
	"encoding/json"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "ResourceBinding"

// TargetCluster is a cluster that the scheduler chose.
type TargetCluster struct {
	Name     string
	Replicas *int
}

// StatusItem is what one cluster reported.
type StatusItem struct {
	ClusterName    string
	Applied        bool
	AppliedMessage *string
	Health         *string
	// Status is the object's status as generic JSON.
	Status any
}

// Binding says where one object goes.
type Binding struct {
	object.Object
	binding *workv1alpha2.ResourceBinding
}

// New makes a Binding. A ClusterResourceBinding has the same form.
func New(instance string, o *index.Object, fresh freshness.Freshness) (*Binding, error) {
	b, err := index.Decode[workv1alpha2.ResourceBinding](o)
	if err != nil {
		return nil, err
	}
	return &Binding{Object: object.New(instance, o, fresh), binding: b}, nil
}

// IsNode marks it as a Node.
func (*Binding) IsNode() {}

// ID is its global ID.
func (b *Binding) ID() string { return nodeid.New(TypeName, b.Instance, b.Namespace(), b.Name()) }

// Karmada is Karmada's own object.
func (b *Binding) Karmada() *workv1alpha2.ResourceBinding { return b.binding }

// NamespaceOrNil is its namespace; nil for a ClusterResourceBinding.
func (b *Binding) NamespaceOrNil() *string { return object.Optional(b.Namespace()) }

// Clusters are where the scheduler sent the object, by name.
func (b *Binding) Clusters() []TargetCluster {
	out := make([]TargetCluster, len(b.binding.Spec.Clusters))
	for i, c := range b.binding.Spec.Clusters {
		out[i] = TargetCluster{Name: c.Name, Replicas: object.Optional(int(c.Replicas))}
	}
	slices.SortFunc(out, func(x, y TargetCluster) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	})
	return out
}

// ClustersOf are all clusters that a binding names, by name: those that are chosen, those that are left,
// and those that have reported.
func ClustersOf(b *workv1alpha2.ResourceBinding) []string {
	var all []string
	for i := range b.Spec.Clusters {
		all = append(all, b.Spec.Clusters[i].Name)
	}
	for i := range b.Spec.GracefulEvictionTasks {
		all = append(all, b.Spec.GracefulEvictionTasks[i].FromCluster)
	}
	for i := range b.Status.AggregatedStatus {
		all = append(all, b.Status.AggregatedStatus[i].ClusterName)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Replicas to be divided or duplicated.
func (b *Binding) Replicas() *int { return object.Optional(int(b.binding.Spec.Replicas)) }

// SchedulerName is the scheduler in charge.
func (b *Binding) SchedulerName() *string { return object.Optional(b.binding.Spec.SchedulerName) }

// Conditions are its state in detail.
func (b *Binding) Conditions() []object.Condition {
	return object.Conditions(b.binding.Status.Conditions)
}

// AggregatedStatus is what each cluster reported.
func (b *Binding) AggregatedStatus() ([]StatusItem, error) {
	out := make([]StatusItem, len(b.binding.Status.AggregatedStatus))
	for i, item := range b.binding.Status.AggregatedStatus {
		out[i] = StatusItem{
			ClusterName:    item.ClusterName,
			Applied:        item.Applied,
			AppliedMessage: object.Optional(item.AppliedMessage),
			Health:         object.Optional(string(item.Health)),
		}
		if item.Status != nil && len(item.Status.Raw) > 0 {
			if err := json.Unmarshal(item.Status.Raw, &out[i].Status); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
