// Package listing executes the arguments of a list field and returns a page of objects. Every noun
// that is read from the index is listed through it, so that paging, filters and their errors are
// the same everywhere.
package listing

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Filter is the part of a filter that every noun has.
type Filter struct {
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
	// Owner are UIDs, of which an object's controller has one; nil for any. Cursors of lists without it
	// are those of a release that did not know it.
	Owner []string `json:",omitempty"`
}

// parse checks the values of a filter and reads its selector with read; nil selects everything. It
// is the same for all lists, except that lists in memory can compare labels as numbers too.
func (f Filter) parse(read func(string) (labels.Selector, error)) (labels.Selector, error) {
	if s := f.NameContains; s != nil && (*s == "" || len(*s) > apivalidation.DNS1123SubdomainMaxLength) {
		return nil, apierror.Invalid("filter.nameContains", "Give a part of a name, of 1 to %d characters", apivalidation.DNS1123SubdomainMaxLength)
	}
	if f.LabelSelector == nil {
		return nil, nil //nolint:nilnil // Nil selects everything.
	}
	selector, err := read(*f.LabelSelector)
	if err != nil {
		return nil, apierror.Invalid("filter.labelSelector", "This is not a Kubernetes label selector: %s", err)
	}
	return selector, nil
}

// Lister lists what the index holds.
type Lister struct {
	Reader    index.Reader
	Freshness *freshness.Tracker
	Now       func() time.Time
}

// Request is a list that was asked for.
type Request struct {
	// Noun is what is listed; it keeps the cursors of different lists apart.
	Noun string
	// Types of the objects.
	Types []index.Type
	// Custom are the custom workloads that are listed too; nil for none. SelectIdentity keeps the cursors
	// of lists of some of them apart.
	Custom *index.Custom
	// Instances to list from.
	Instances []string
	// Members are the instances' member clusters from which the objects are collected; nil where
	// they are collected from the instances themselves. No member has no objects.
	Members []string
	// InMembers lists the Members themselves, as the index has them, instead of the instances.
	InMembers bool
	// Member is the one member cluster of the one instance that is listed itself; empty for lists of
	// instances.
	Member string
	Args   page.Args
	Filter Filter
	Order  index.Order
	// Fields and Projected narrow further.
	Fields    []index.FieldEquals
	Projected *index.Projected
	// Part selects objects by the value of a field. Concurrent requests for several parts of the
	// same list share a request to the index.
	Part *index.FieldEquals
	// Select narrows further in memory, for which all objects of the request are read; nil where the
	// index selects all that is asked for. SelectIdentity says how, to keep cursors apart.
	Select         Select
	SelectIdentity any
	// Most is how many objects a request with Select for one instance reads at most, before it selects;
	// zero for all.
	Most int
	// WithCount, Detail and Brief are what the selection needs.
	WithCount bool
	Detail    index.Detail
	Brief     bool
}

// Result is a page of objects.
type Result struct {
	page.Args
	Items     []*index.Object
	HasNext   bool
	Count     *int64
	Freshness freshness.Freshness
	// Selected are the objects of all pages; nil for a request without Select.
	Selected []*index.Object
	identity page.Identity
	now      time.Time
	// Images are those of a list of images.
	Images []projection.ImageItem
	// WithoutCustom reports whether custom workloads are missing; see index.Page.
	WithoutCustom bool
	// end is where a list of the projection ended.
	end *index.Position
}

// Cursor is the cursor of an object of the result.
func (r *Result) Cursor(o *index.Object) string { return r.CursorAt(index.PositionOf(o)) }

// CursorAt is the cursor of a place in the list of the result.
func (r *Result) CursorAt(p index.Position) string { return page.Cursor(r.identity, p, r.now) }

// Parse checks the arguments and makes the query. Its errors name the argument.
func (l *Lister) Parse(r Request) (index.ListQuery, *Result, error) {
	now := l.Now()
	result := &Result{Args: r.Args, identity: r.identity(), now: now}
	limit, err := r.Args.Limit()
	if err != nil {
		return index.ListQuery{}, nil, err
	}
	q := index.ListQuery{
		Types:      r.Types,
		Custom:     r.Custom,
		Clusters:   virtualClusters(r.Instances),
		Namespaces: r.Filter.Namespaces,
		Names:      r.Filter.Name,
		Owners:     r.Filter.Owner,
		Fields:     r.Fields,
		Projected:  r.Projected,
		Order:      r.Order,
		Limit:      limit,
		WithCount:  r.WithCount,
		Detail:     r.Detail,
		Brief:      r.Brief,
	}
	if r.InMembers {
		q.Clusters = r.Members
	}
	if r.nothing() {
		// No cluster is nothing, for every user.
		q.Clusters = nil
	}
	if r.Part != nil {
		q.PartField = r.Part.Path
	}
	if q.Selector, err = r.Filter.parse(index.ParseSelector); err != nil {
		return q, nil, err
	}
	if s := r.Filter.NameContains; s != nil {
		q.NameContains = *s
	}
	if after := r.Args.After; after != nil {
		if q.After, err = page.Position[index.Position](result.identity, *after, now); err != nil {
			return q, nil, err
		}
	}
	return q, result, nil
}

// List reads a page over all instances of the request.
func (l *Lister) List(ctx context.Context, r Request) (*Result, error) {
	q, result, err := l.Parse(r)
	if err != nil {
		return nil, err
	}
	if r.nothing() {
		return l.fill(ctx, result, r, &index.Page{Count: new(int64)}), nil
	}
	p, err := l.Reader.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return l.fill(ctx, result, r, p), nil
}

// ListOne returns a page of the one instance of the request. Concurrent calls for the same page of
// other instances, or of other parts, share a request.
func (l *Lister) ListOne(ctx context.Context, r Request) (*Result, error) {
	q, result, err := l.Parse(r)
	if err != nil {
		return nil, err
	}
	if r.nothing() {
		return l.fill(ctx, result, r, &index.Page{Count: new(int64)}), nil
	}
	if r.Select != nil {
		return l.selectOne(ctx, r, q, result)
	}
	p, err := l.Reader.PageOf(ctx, r.part(r.Instances[0]), q)
	if err != nil {
		return nil, apierror.In(err, r.Instances[0])
	}
	return l.fill(ctx, result, r, p), nil
}

// Prefetch starts reading the page of every instance of the request, each as
// ListOne would. A request that can't be parsed is left to ListOne, which says why.
func (l *Lister) Prefetch(ctx context.Context, r Request, then func([]*index.Object)) {
	parts := make([]index.Part, len(r.Instances))
	for i, name := range r.Instances {
		parts[i] = r.part(name)
	}
	l.PrefetchParts(ctx, r, parts, then)
}

// PrefetchParts starts reading the page of each of some parts of a list, each as
// ListOne would with that part's value for the request's Part.
func (l *Lister) PrefetchParts(ctx context.Context, r Request, parts []index.Part, then func([]*index.Object)) {
	q, _, err := l.Parse(r)
	if err != nil || r.nothing() || len(parts) == 0 {
		return
	}
	if r.Select != nil {
		l.prefetchSelected(ctx, r, q, parts, then)
		return
	}
	l.Reader.PrefetchPages(ctx, parts, q, func(pages map[index.Part]*index.Page) {
		if then == nil {
			return
		}
		var all []*index.Object
		for _, p := range pages {
			all = append(all, p.Items...)
		}
		then(all)
	})
}

func (r Request) part(instance string) index.Part {
	part := index.Part{Cluster: v1alpha1.VirtualClusterName(instance)}
	if r.Member != "" {
		part.Cluster = r.Member
	}
	if r.Part != nil {
		part.Value = r.Part.Value
	}
	return part
}

func (l *Lister) fill(ctx context.Context, result *Result, r Request, p *index.Page) *Result {
	result.Items, result.Images, result.HasNext, result.Count, result.end = p.Items, p.Images, p.HasNext, p.Count, p.End
	result.WithoutCustom = p.WithoutCustom
	if !r.WithCount {
		result.Count = nil
	}
	if !p.ReadAt.IsZero() {
		result.Freshness = freshness.LiveAt(p.ReadAt)
		return result
	}
	result.Freshness = l.Freshness.Of(ctx, r.collectedFrom(p)...).AsOf(p.AsOf, l.Now())
	if p.Live {
		result.Freshness = result.Freshness.Overlaid()
	}
	return result
}

// Connection makes the Relay connection of a result.
func Connection[T any](r *Result, wrap func(*index.Object) T) *page.Connection[T] {
	items := make([]T, len(r.Items))
	for i, o := range r.Items {
		items[i] = wrap(o)
	}
	i := -1
	c := page.Build(r.Args, items, func(T) string {
		i++
		return r.Cursor(r.Items[i])
	}, r.HasNext, r.Count, r.Freshness)
	if r.HasNext && r.end != nil {
		// The reader goes on there, even where the last items were left out.
		end := r.CursorAt(*r.end)
		c.PageInfo.EndCursor = &end
	}
	return c
}

// collectedFrom are the clusters that a page was collected from.
func (r Request) collectedFrom(p *index.Page) []string {
	switch {
	case r.Member != "":
		return append([]string{r.Member}, p.Scoped...)
	case r.Members == nil:
		return virtualClusters(r.Instances)
	}
	return append(slices.Clone(r.Members), p.Scoped...)
}

// identity identifies the list. The page size is not part of it, because a client may change that
// between pages.
func (r Request) identity() page.Identity {
	noun := r.Noun
	if r.Member != "" {
		noun += " in " + r.Member
	} else if r.InMembers {
		noun += " in members"
	}
	parts := []any{noun, r.Types, r.Instances, r.Filter, r.Fields, r.Part, r.Projected, r.Order}
	if r.SelectIdentity != nil {
		parts = append(parts, r.SelectIdentity)
	}
	return page.IdentityOf(parts...)
}

// nothing reports whether a request excludes everything: an empty list of values is
// not the same as no list.
func (r Request) nothing() bool {
	excludes := func(values []string) bool { return values != nil && len(values) == 0 }
	if p := r.Projected; p != nil && (excludes(p.Health) || excludes(p.ScheduledTo) || excludes(p.Images) ||
		p.Pods != nil && (excludes(p.Pods.Clusters) || excludes(p.Pods.Phases) || excludes(p.Pods.Nodes))) {
		return true
	}
	none := len(r.Types) == 0 && (r.Custom == nil || excludes(r.Custom.Kinds))
	return len(r.Instances) == 0 || none || excludes(r.Members) || excludes(r.Filter.Name) || excludes(r.Filter.Namespaces) || excludes(r.Filter.Owner)
}

func virtualClusters(instances []string) []string {
	names := make([]string, len(instances))
	for i, name := range instances {
		names[i] = v1alpha1.VirtualClusterName(name)
	}
	return names
}

// Decoded makes the connection of a result whose objects have to be decoded.
func Decoded[T any](r *Result, decode func(*index.Object) (T, error)) (*page.Connection[T], error) {
	var failed error
	c := Connection(r, func(o *index.Object) T {
		item, err := decode(o)
		if err != nil && failed == nil {
			failed = err
		}
		return item
	})
	if failed != nil {
		return nil, failed
	}
	return c, nil
}
