package image

import (
	"context"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Bounds of how many workloads and member clusters of an image are shown.
const (
	DefaultUsers = 20
	MaxUsers     = 100
)

// Needs says what will be asked of the images of a list.
type Needs struct {
	// Count: the number of images on all pages.
	Count bool
	// Workloads and Clusters: how many of each image.
	Workloads, Clusters int
	// Workload is what will be asked of the workloads.
	Workload workload.Needs
}

// Service reads images.
type Service struct {
	lister    *listing.Lister
	instances *instance.Service
	pods      *pod.Service
	workloads *workload.Service
}

// NewService makes a Service. What it shows it reads with the lister, as far as the user may see it.
func NewService(lister *listing.Lister, instances *instance.Service, pods *pod.Service, workloads *workload.Service) *Service {
	return &Service{lister: lister, instances: instances, pods: pods, workloads: workloads}
}

// Instances returns the instances that List reads with a filter.
func (s *Service) Instances(ctx context.Context, f *Filter) ([]string, error) {
	names, err := s.instances.Names(ctx)
	if err != nil || f == nil || f.Instances == nil {
		return names, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(f.Instances, name) }), nil
}

// List returns a page of the images of all instances.
func (s *Service) List(ctx context.Context, args page.Args, f *Filter, order *Order, needs Needs) (*Connection, error) {
	if f == nil {
		f = &Filter{}
	}
	by, err := f.images()
	if err != nil {
		return nil, err
	}
	names, err := s.Instances(ctx, f)
	if err != nil {
		return nil, err
	}
	members, err := s.pods.Members(ctx, names, &pod.Filter{Cluster: f.Cluster})
	if err != nil {
		return nil, err
	}
	list := &index.ImageList{ImageFilter: by, Workloads: needs.Workloads, Clusters: needs.Clusters}
	r := listing.Request{
		Noun: TypeName, Types: []index.Type{index.Pods}, Instances: names, Args: args, Filter: listing.Filter{Namespaces: f.Namespaces},
		Projected: &index.Projected{Pods: &index.PodFilter{Clusters: f.Cluster}, ImageList: list}, WithCount: needs.Count, Detail: index.Metadata,
		// Workloads are collected from the instances themselves.
		Members: slices.Clone(members),
	}
	for _, name := range names {
		r.Members = append(r.Members, v1alpha1.VirtualClusterName(name))
	}
	if order != nil {
		list.ByPods, r.Order.Desc = order.Field == OrderFieldPods, order.Direction == object.Descending
	}
	result, err := s.lister.List(ctx, r)
	if err != nil {
		return nil, err
	}
	if result.Freshness, err = s.pods.Uncollected(ctx, members, result.Freshness); err != nil {
		return nil, err
	}
	items := make([]*Image, len(result.Images))
	for i := range result.Images {
		items[i] = newImage(&result.Images[i])
	}
	s.prefetch(ctx, items, needs)
	return page.Build(args, items, func(i *Image) string {
		return result.CursorAt(index.Position{Name: i.Reference, Pods: i.item.Pods})
	}, result.HasNext, result.Count, result.Freshness), nil
}

// prefetch starts reading the workloads of some images.
func (s *Service) prefetch(ctx context.Context, images []*Image, needs Needs) {
	var named []workload.Named
	seen := map[workload.Named]bool{}
	for _, i := range images {
		for _, key := range i.item.First {
			if one := namedOf(&key); !seen[one] {
				seen[one] = true
				named = append(named, one)
			}
		}
	}
	s.workloads.PrefetchNamed(ctx, named, needs.Workload)
}

func namedOf(key *projection.WorkloadKey) workload.Named {
	return workload.Named{Instance: key.Instance, Kind: workload.Kind(key.Kind), Namespace: key.Namespace, Name: key.Name}
}

// Workloads returns the first workloads that have an image of a list. One that was deleted since is
// left out.
func (s *Service) Workloads(ctx context.Context, i *Image, first *int, needs workload.Needs) ([]workload.Any, error) {
	most, err := Users(first)
	if err != nil {
		return nil, err
	}
	all := []workload.Any{}
	for _, key := range i.item.First[:min(most, len(i.item.First))] {
		w, err := s.workloads.Get(ctx, key.Instance, workload.Kind(key.Kind), key.Namespace, key.Name, needs)
		if err != nil {
			return nil, err
		}
		if w != nil {
			all = append(all, w)
		}
	}
	return all, nil
}

// Clusters returns the member clusters with the most pods that have an image of a list.
func Clusters(i *Image, first *int) ([]Cluster, error) {
	most, err := Users(first)
	if err != nil {
		return nil, err
	}
	all := []Cluster{}
	for _, c := range i.item.Clusters[:min(most, len(i.item.Clusters))] {
		all = append(all, Cluster{InstanceName: c.Instance, ClusterName: c.Cluster, PodCount: int(c.Pods)})
	}
	return all, nil
}

// Users is how many workloads, or clusters, of an image are asked for.
func Users(first *int) (int, error) {
	if first == nil {
		return DefaultUsers, nil
	}
	if *first < 1 || *first > MaxUsers {
		return 0, apierror.Invalid("first", "%d is out of range; ask for 1 to %d", *first, MaxUsers)
	}
	return *first, nil
}
