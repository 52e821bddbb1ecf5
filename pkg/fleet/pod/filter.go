package pod

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// Filter says which pods to list.
type Filter struct {
	Instances     []string
	Cluster       []string
	Namespaces    []string
	Name          []string
	NameContains  *string
	Phase         []Phase
	Ready         *bool
	Node          []string
	LabelSelector *string
	Images        []string
	Text          *string
}

// OrderField is what pods can be ordered by.
type OrderField string

// The fields.
const (
	OrderFieldNamespace OrderField = "NAMESPACE"
	OrderFieldName      OrderField = "NAME"
	OrderFieldCreatedAt OrderField = "CREATED_AT"
	OrderFieldRestarts  OrderField = "RESTARTS"
)

// Order is the order of a list of pods.
type Order struct {
	Field     OrderField
	Direction object.Direction
}

// index is the order as the index knows it; by namespace where none was asked for.
func (o *Order) index() index.Order {
	if o == nil {
		return index.Order{Field: index.OrderByNamespace}
	}
	order := (&object.Order{Field: object.OrderField(o.Field), Direction: o.Direction}).Index(index.Order{})
	if o.Field == OrderFieldRestarts {
		order.Field = index.OrderByRestarts
	}
	return order
}

// ListArgs are the arguments of a list of pods.
type ListArgs struct {
	page.Args
	Filter *Filter
	Order  *Order
}

// Needs says what will be asked of the pods of a list.
type Needs struct {
	// Count: the number of pods on all pages.
	Count bool
	// Facets: what the pods on all pages are counted by.
	Facets listing.Facets
	// Detail is Whole for manifests. Everything else is in the rows of the projection.
	Detail index.Detail
	// MemberClusters: the member cluster of each pod.
	MemberClusters bool
}

// request makes the list of a filter in some instances, of which these member clusters are
// collected. Its errors name the argument.
func (a ListArgs) request(instances, members []string, needs Needs) (listing.Request, error) {
	f := a.Filter
	if f == nil {
		f = &Filter{}
	}
	words, err := listing.Words(f.Text)
	if err != nil {
		return listing.Request{}, err
	}
	of := &index.PodFilter{Clusters: f.Cluster, Nodes: f.Node, Ready: f.Ready}
	if f.Phase != nil {
		of.Phases = []string{}
	}
	for _, phase := range f.Phase {
		of.Phases = append(of.Phases, string(phase))
	}
	return listing.Request{
		Noun:      TypeName,
		Types:     []index.Type{index.Pods},
		Instances: instances,
		Members:   members,
		Args:      a.Args,
		Filter:    listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector},
		Order:     a.Order.index(),
		Projected: &index.Projected{Pods: of, Images: f.Images, Words: words},
		WithCount: needs.Count,
		Detail:    needs.Detail,
	}, nil
}

// requestIn makes the list of a filter in one member cluster.
func (a ListArgs) requestIn(in object.Name, needs Needs) (listing.Request, error) {
	r, err := a.request([]string{in.Instance}, []string{in.Name}, needs)
	r.Part = &index.FieldEquals{Path: index.PodCluster, Value: in.Name}
	return r, err
}

// within narrows a list's instances to those of the filter.
func (f *Filter) within(instances []string) []string {
	if f == nil || f.Instances == nil {
		return instances
	}
	return slices.DeleteFunc(slices.Clone(instances), func(name string) bool { return !slices.Contains(f.Instances, name) })
}

// inside refuses a filter that names other instances than the one that the list is in.
func (f *Filter) inside(instances []string) error {
	if f != nil && f.Instances != nil && (len(instances) != 1 || !slices.Equal(f.Instances, instances)) {
		return apierror.Invalid("filter.instances",
			"Inside one instance this may name that instance only; leave it out, or use the field pods of Query")
	}
	return nil
}

// of are those member clusters that the filter names; all where it names none.
func (f *Filter) of(members []string) []string {
	if f == nil || f.Cluster == nil {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), func(name string) bool { return !slices.Contains(f.Cluster, name) })
}
