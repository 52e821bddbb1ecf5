package access

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// WholeInstance returns an Instance as JSON for users who may change it; nil for others.
func (a *Access) WholeInstance(ctx context.Context, i *v1alpha1.Instance) (map[string]any, error) {
	grant, visible, err := a.Instance(ctx, i.Name)
	if err != nil || !visible || !grant.Can(authz.VerbUpdateInstance, "") {
		return nil, err
	}
	return object.Whole(i, v1alpha1.GroupVersion.WithKind("Instance"), copies)
}

// WholeCluster returns a Cluster of the inventory as JSON for users who may read all of its instance; nil for others. One that
// is free, or that belongs to two instances while it moves, is for users who see all instances: it names the other one.
func (a *Access) WholeCluster(ctx context.Context, c *v1alpha1.Cluster) (map[string]any, error) {
	of, from := InstanceOfCluster(c), figuresFrom(c)
	v, err := a.permissions.For(ctx, slices.DeleteFunc(slices.Compact([]string{of, from}), func(name string) bool { return name == "" })...)
	if err != nil {
		return nil, err
	}
	joined := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionJoined)
	elsewhere := of != from || joined != nil && joined.Reason == v1alpha1.ReasonJoinedElsewhere
	if (of == "" || elsewhere) && !v.All() || from != "" && !Figures(v, c) {
		return nil, nil //nolint:nilnil // Null in the answer, for users who may not see it.
	}
	return object.Whole(c, v1alpha1.GroupVersion.WithKind("Cluster"), copies)
}
