package resolvers

import (
	"context"

	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write/instances"
)

func (r *instanceResolver) HostCluster(ctx context.Context, obj *instance.Instance) (*cluster.Cluster, error) {
	if obj.HostName() == "" {
		return nil, nil //nolint:nilnil // Null in the answer: an External instance has no host.
	}
	return r.Fleet.Clusters.Get(ctx, obj.HostName())
}

func (r *instanceResolver) UpgradeVersions(_ context.Context, obj *instance.Instance) ([]string, error) {
	return r.Fleet.Write.Instances.Upgrades(obj.Instance), nil
}

func (r *instanceResolver) Manifest(ctx context.Context, obj *instance.Instance) (map[string]any, error) {
	return r.Fleet.Access.WholeInstance(ctx, obj.Instance)
}

func (r *instanceResolver) Yaml(ctx context.Context, obj *instance.Instance) (*string, error) {
	whole, err := r.Fleet.Access.WholeInstance(ctx, obj.Instance)
	if err != nil {
		return nil, err
	}
	return object.YAML(whole)
}

func (r *queryResolver) KarmadaVersions(ctx context.Context) (*instances.KarmadaVersions, error) {
	return r.Fleet.Write.Instances.KarmadaVersions(ctx)
}

func (r *mutationResolver) RegisterInstance(ctx context.Context, input instances.RegisterInput) (*instances.Payload, error) {
	return r.Fleet.Write.Instances.Register(ctx, input)
}

func (r *mutationResolver) CreateInstance(ctx context.Context, input instances.CreateInput) (*instances.Payload, error) {
	return r.Fleet.Write.Instances.Create(ctx, input)
}

func (r *mutationResolver) UpdateInstance(ctx context.Context, input instances.UpdateInput) (*instances.Payload, error) {
	return r.Fleet.Write.Instances.Update(ctx, input)
}

func (r *mutationResolver) DeleteInstance(ctx context.Context, input instances.DeleteInput) (*instances.DeletePayload, error) {
	return r.Fleet.Write.Instances.Delete(ctx, input)
}
