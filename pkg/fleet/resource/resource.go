// Package resource answers queries about objects of any kind.
package resource

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is the noun's name in the schema and in IDs.
const TypeName = "Resource"

// Connection is a page of them.
type Connection = page.Connection[*Resource]

// Edge is one of them with its place in the list.
type Edge = page.Edge[*Resource]

// Filter says which objects to list.
type Filter struct {
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
	Owner         []string
}

// Kind names a kind as its API path does.
type Kind struct {
	Group, Version, Resource string
}

func (k Kind) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// Type is the kind as the index has it.
func (k Kind) Type() index.Type {
	return index.Type{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// Resource is an object of any kind: of an instance, or of one of its member clusters.
type Resource struct {
	object.Object
	of Kind
	// member is the member cluster; empty for an object of the instance itself.
	member string
}

// New makes a Resource.
func New(instance string, of Kind, o *index.Object, fresh freshness.Freshness) *Resource {
	return &Resource{Object: object.New(instance, o, fresh), of: of}
}

// IsNode marks it as a Node.
func (*Resource) IsNode() {}

// ID is its global ID.
func (r *Resource) ID() string {
	if r.member != "" {
		return nodeid.New(InMember, r.Instance, r.member, r.of.Group, r.of.Version, r.of.Resource, r.Namespace(), r.Name())
	}
	return nodeid.New(TypeName, r.Instance, r.of.Group, r.of.Version, r.of.Resource, r.Namespace(), r.Name())
}

// Propagates reports whether a policy can have Karmada propagate the object.
func (r *Resource) Propagates() bool { return r.member == "" && workload.Propagates(r.Indexed) }

// NamespaceOrNil is its namespace; nil when it has none.
func (r *Resource) NamespaceOrNil() *string { return object.Optional(r.Namespace()) }

// Uncollected is how kinds are read that the index does not collect; *uncollected.Source is
// one.
type Uncollected interface {
	// Collected returns how much of a kind of an instance the index has.
	Collected(ctx context.Context, instance string, of schema.GroupVersionResource) (collection.State, error)
	// Check refuses a kind that an instance does not serve.
	Check(ctx context.Context, instance string, of schema.GroupVersionResource) error
	// ResourceOf returns the resource that serves a kind in an instance.
	ResourceOf(ctx context.Context, instance string, of schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// ListOne lists from the instance of the request itself.
	ListOne(ctx context.Context, r listing.Request) (*listing.Result, error)
}

// Service reads objects of any kind.
type Service struct {
	lister    *listing.Lister
	live      Uncollected
	members   Members
	instances Instances
	templates workload.Templates
}

// Instances are those that the caller may see; *instance.Service is one.
type Instances interface {
	Names(ctx context.Context) ([]string, error)
}

// NewService makes a Service.
func NewService(lister *listing.Lister, live Uncollected, members Members, instances Instances) *Service {
	return &Service{lister: lister, live: live, members: members, instances: instances, templates: workload.NewTemplates(lister.Reader)}
}

// Get returns one object; nil when there is none of that name.
func (s *Service) Get(ctx context.Context, instance string, of Kind, namespace *string, name string) (*Resource, error) {
	f := &Filter{Name: []string{name}, Namespaces: []string{""}}
	if namespace != nil {
		f.Namespaces = []string{*namespace}
	}
	one := 1
	c, err := s.List(ctx, instance, of, page.Args{First: &one}, f, nil, false, index.Whole)
	if err != nil || len(c.Nodes) == 0 {
		return nil, err
	}
	return c.Nodes[0], nil
}

// OfKind returns whole objects of a kind, by namespace and name; those that there are not are missing. They
// are read in one list from where the objects of the kind are.
func (s *Service) OfKind(ctx context.Context, instance string, of schema.GroupVersionKind, names []object.Name) (map[object.Name]*object.Object, error) {
	gvr, err := s.live.ResourceOf(ctx, instance, of)
	if err != nil {
		return nil, err
	}
	kind, f := Kind{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}, &Filter{}
	for _, n := range names {
		if !slices.Contains(f.Namespaces, n.Namespace) {
			f.Namespaces = append(f.Namespaces, n.Namespace)
		}
		if !slices.Contains(f.Name, n.Name) {
			f.Name = append(f.Name, n.Name)
		}
	}
	found, most := make(map[object.Name]*object.Object, len(names)), page.MaxSize
	for args := (page.Args{First: &most}); ; {
		c, err := s.List(ctx, instance, kind, args, f, nil, false, index.Whole)
		if err != nil {
			return nil, err
		}
		for _, r := range c.Nodes {
			found[object.Name{Instance: instance, Namespace: r.Namespace(), Name: r.Name()}] = &r.Object
		}
		if !c.PageInfo.HasNextPage {
			return found, nil
		}
		args.After = c.PageInfo.EndCursor
	}
}

// List returns a page of objects of one kind.
func (s *Service) List(ctx context.Context, instance string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) (*Connection, error) {
	if err := of.Validate(); err != nil {
		return nil, s.suggest(ctx, instance, of, err)
	}
	r, err := s.Result(ctx, instance, of, args, f, order, count, detail)
	if err != nil {
		return nil, err
	}
	return listing.Connection(r, func(o *index.Object) *Resource { return New(instance, of, o, r.Freshness) }), nil
}

// Result returns a page of objects of one kind, which must be valid, for a noun that decodes them.
func (s *Service) Result(ctx context.Context, instance string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) (*listing.Result, error) {
	return s.list(ctx, instance, of, request([]string{instance}, of, args, f, order, count, detail))
}

// All returns all objects of one kind that the caller may see, and how old they may be. Where there are more
// than most, the error is listing.ErrTooMany.
func (s *Service) All(ctx context.Context, instance string, of schema.GroupVersionResource, f *Filter, detail index.Detail, most int) ([]*index.Object, freshness.Freshness, error) {
	kind := Kind{of.Group, of.Version, of.Resource}
	r := request([]string{instance}, kind, page.Args{}, f, nil, false, detail)
	r.Select, r.SelectIdentity, r.Most = listing.SelectAll, "all", most
	result, err := s.list(ctx, instance, kind, r)
	if err != nil {
		return nil, freshness.Freshness{}, err
	}
	return result.Selected, result.Freshness, nil
}

// ResourceOf returns the resource that serves a kind in an instance.
func (s *Service) ResourceOf(ctx context.Context, instance string, of schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return s.live.ResourceOf(ctx, instance, of)
}

// suggest returns the error of a kind that cannot be, or a better one where a kind is named
// as manifests name it: there may be a plural of that.
func (s *Service) suggest(ctx context.Context, instance string, of Kind, err error) error {
	lower := of
	lower.Resource = strings.ToLower(of.Resource)
	if lower.Validate() != nil {
		return err
	}
	if unserved := s.live.Check(ctx, instance, of.gvr()); apierror.Is(unserved, apierror.CodeInvalid) {
		return unserved
	}
	return err
}

// list reads a page from where the objects are.
func (s *Service) list(ctx context.Context, instance string, of Kind, r listing.Request) (*listing.Result, error) {
	state, err := s.live.Collected(ctx, instance, of.gvr())
	if err != nil {
		return nil, err
	}
	if state != collection.None {
		indexed, err := s.lister.ListOne(ctx, r)
		// That the index has none yet of a kind that arrives does not mean that there are none.
		if state == collection.Whole || err != nil || len(indexed.Items) > 0 || r.Args.After != nil {
			return indexed, err
		}
	}
	if err := s.live.Check(ctx, instance, of.gvr()); err != nil {
		return nil, err
	}
	result, err := s.live.ListOne(ctx, r)
	return result, apierror.In(err, instance)
}

// Named returns one object of a kind that the index collects of every instance; nil when there is none
// of that name. Concurrent calls for several names share a request.
func (s *Service) Named(ctx context.Context, instance string, of index.Type, namespace, name string, detail index.Detail) (*Resource, error) {
	o, err := index.Find(ctx, s.lister.Reader, index.Key{Cluster: v1alpha1.VirtualClusterName(instance), Type: of, Namespace: namespace, Name: name}, detail)
	if o == nil || err != nil {
		return nil, apierror.In(err, instance)
	}
	return New(instance, Kind{of.Group, of.Version, of.Resource}, o, s.lister.Freshness.Of(ctx, o.Cluster)), nil
}

// PrefetchNamed starts reading what Named will be asked for. When the objects have been read, it calls then, and only
// afterwards unblocks the callers that wait for them.
func (s *Service) PrefetchNamed(ctx context.Context, of index.Type, named []object.Name, detail index.Detail, then func([]*Resource)) {
	keys := make([]index.Key, len(named))
	for i, n := range named {
		keys[i] = index.Key{Cluster: v1alpha1.VirtualClusterName(n.Instance), Type: of, Namespace: n.Namespace, Name: n.Name}
	}
	s.lister.Reader.Prefetch(ctx, keys, detail, func(found map[index.Key]*index.Object) {
		all := make([]*Resource, 0, len(found))
		for _, o := range found {
			all = append(all, New(v1alpha1.InstanceOfVirtualCluster(o.Cluster), Kind{of.Group, of.Version, of.Resource}, o, s.lister.Freshness.Of(ctx, o.Cluster)))
		}
		then(all)
	})
}

// Indexed reports whether the index collects the objects of a kind.
func (s *Service) Indexed(ctx context.Context, instance string, of Kind) (bool, error) {
	state, err := s.live.Collected(ctx, instance, of.gvr())
	return state != collection.None, err
}

// Prefetch starts reading what List will be asked for in each instance, where the index is
// asked. When the objects have been read, it calls then, if it is not nil, and only afterwards
// unblocks the callers that wait for them.
func (s *Service) Prefetch(ctx context.Context, instances []string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail, then func([]*index.Object)) {
	if of.Validate() != nil {
		return
	}
	indexed := slices.DeleteFunc(slices.Clone(instances), func(name string) bool {
		state, err := s.live.Collected(ctx, name, of.gvr())
		return err != nil || state == collection.None
	})
	s.lister.Prefetch(ctx, request(indexed, of, args, f, order, count, detail), then)
}

func request(instances []string, of Kind, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) listing.Request {
	return requestOf(instances, []index.Type{of.Type()}, args, f, order, count, detail)
}

func requestOf(instances []string, types []index.Type, args page.Args, f *Filter, order *object.Order, count bool, detail index.Detail) listing.Request {
	if f == nil {
		f = &Filter{}
	}
	return listing.Request{
		Noun:      TypeName,
		Types:     types,
		Instances: instances,
		Args:      args,
		Filter:    listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector, Owner: f.Owner},
		Order:     order.Index(index.Order{Field: index.OrderByNamespace}),
		WithCount: count,
		Detail:    detail,
	}
}

// Validate refuses what can't be the name of a kind; it would only ever list nothing.
func (k Kind) Validate() error {
	if k.Group != "" && len(validation.IsDNS1123Subdomain(k.Group)) > 0 {
		return apierror.Invalid("group", "%q is not an API group; give for example \"apps\", or \"\" for the core group", k.Group)
	}
	if len(validation.IsDNS1035Label(k.Version)) > 0 {
		return apierror.Invalid("version", "%q is not an API version; give for example \"v1\"", k.Version)
	}
	if len(validation.IsDNS1123Label(k.Resource)) > 0 {
		return apierror.Invalid("resource", "%q is not the plural name of a kind; give for example \"configmaps\"", k.Resource)
	}
	return nil
}
