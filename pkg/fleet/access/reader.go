package access

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Reader is an index.Reader that reads what the user of the context may see. What
// they may not see is missing: a key outside answers as one of nothing and costs
// no request, a list holds and counts only what is inside.
//
// It belongs above the dataloaders, so that it judges every read, also those that
// are answered from what was read before.
type Reader struct {
	reader      index.Reader
	permissions Permissions
	inventory   Inventory
}

var _ index.Reader = (*Reader)(nil)

// NewReader makes a Reader.
func NewReader(reader index.Reader, permissions Permissions, inventory Inventory) *Reader {
	return &Reader{reader: reader, permissions: permissions, inventory: inventory}
}

// grants returns what the user may do in some clusters. Those of instances that may
// not be seen, and those of no known instance, are not in the result. all reports whether
// there is no other instance that may not be seen.
func (r *Reader) grants(ctx context.Context, clusters ...string) (grants map[string]authz.Grant, all bool, err error) {
	instances := make(map[string]string, len(clusters))
	for _, cluster := range clusters {
		if _, known := instances[cluster]; !known {
			instances[cluster] = r.instanceOf(ctx, cluster)
		}
	}
	names := slices.Sorted(maps.Values(instances))
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	v, err := r.permissions.For(ctx, names...)
	if err != nil {
		audit.From(ctx).Fail()
		return nil, false, err
	}
	record := audit.From(ctx)
	grants = make(map[string]authz.Grant, len(instances))
	for cluster, instance := range instances {
		if g, ok := v.Instance(instance); ok {
			grants[cluster] = g
			record.Permit(instance)
		}
	}
	return grants, v.All(), nil
}

// List implements index.Reader.
func (r *Reader) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	clusters := slices.Clone(q.Clusters)
	for _, s := range q.Scopes {
		clusters = append(clusters, s.Cluster)
	}
	grants, all, err := r.grants(ctx, clusters...)
	if err != nil {
		return nil, err
	}
	narrowed, ok := r.narrow(ctx, grants, all, q)
	if !ok {
		return nothing(&q), nil
	}
	page, err := r.reader.List(ctx, narrowed)
	if err != nil {
		return nil, err
	}
	return r.admitPage(ctx, grants, &narrowed, page)
}

// narrow confines a list to what may be read; false when nothing of it may. all reports that
// every instance may be seen.
func (r *Reader) narrow(ctx context.Context, grants map[string]authz.Grant, all bool, q index.ListQuery) (index.ListQuery, bool) {
	asked, own := q.Clusters, q.Scopes
	q.Clusters, q.Scopes = nil, nil
	for _, cluster := range asked {
		g, visible := grants[cluster]
		if !visible {
			continue
		}
		switch c := confine(g, cluster, r.instanceOf(ctx, cluster), &q); {
		case c.none:
		case c.scope != nil:
			q.Scopes = append(q.Scopes, *c.scope)
		default:
			q.Clusters = append(q.Clusters, cluster)
		}
	}
	// No caller above asks for scopes of its own. If one does, it gets them
	// where the whole cluster may be read, and nothing where it takes thought.
	for _, scope := range own {
		if g, visible := grants[scope.Cluster]; visible {
			if c := confine(g, scope.Cluster, r.instanceOf(ctx, scope.Cluster), &q); !c.none && c.scope == nil {
				q.Scopes = append(q.Scopes, scope)
			}
		}
	}
	q.Confined = !all
	return q, len(q.Clusters)+len(q.Scopes) > 0
}

// PageOf implements index.Reader.
func (r *Reader) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	grants, all, err := r.grants(ctx, part.Cluster)
	if err != nil {
		return nil, err
	}
	q.Clusters, q.Scopes = []string{part.Cluster}, nil
	narrowed, ok := r.narrow(ctx, grants, all, q)
	if !ok {
		return nothing(&q), nil
	}
	page, err := r.reader.PageOf(ctx, part, narrowed)
	if err != nil {
		return nil, err
	}
	return r.admitPage(ctx, grants, &narrowed, page)
}

// Get implements index.Reader.
func (r *Reader) Get(ctx context.Context, key index.Key, detail index.Detail) (*index.Object, error) {
	grants, _, err := r.grants(ctx, key.Cluster)
	if err != nil {
		return nil, err
	}
	g := grants[key.Cluster]
	if viewOf(g, key) == hidden {
		return nil, key.NotFound()
	}
	o, err := r.reader.Get(ctx, key, detail)
	if err != nil {
		return nil, err
	}
	if o.Cluster != key.Cluster {
		return nil, key.NotFound()
	}
	admitted, err := admit(g, []index.Type{key.Type}, o)
	if err == nil && admitted == nil {
		err = key.NotFound()
	}
	return admitted, err
}

// PodsOf implements index.Reader. The pods of an owner that may not be seen are
// none, like those of an owner that no longer exists.
func (r *Reader) PodsOf(ctx context.Context, owner index.PodOwner) ([]*index.Object, error) {
	grants, _, err := r.grants(ctx, owner.Cluster)
	if err != nil {
		return nil, err
	}
	g := grants[owner.Cluster]
	if !g.CanRead(owner.Namespace) {
		return nil, nil
	}
	pods, err := r.reader.PodsOf(ctx, owner)
	if err != nil {
		return nil, err
	}
	// The caller names the owner's namespace; each pod has its own, which is checked here.
	var admitted []*index.Object
	for _, o := range pods {
		if o.Cluster != owner.Cluster {
			continue
		}
		pod, err := admit(g, []index.Type{index.Pods}, o)
		if err != nil {
			return nil, err
		}
		if pod != nil {
			admitted = append(admitted, pod)
		}
	}
	return admitted, nil
}

// nothing is the page of a list that holds nothing.
func nothing(q *index.ListQuery) *index.Page {
	page := &index.Page{}
	if q.WithCount {
		page.Count = new(int64)
	}
	return page
}

// admitPage is a page as the user may see it. One that holds what they may not is
// refused whole: its count and its end are as wrong as its objects.
func (r *Reader) admitPage(ctx context.Context, grants map[string]authz.Grant, q *index.ListQuery, page *index.Page) (*index.Page, error) {
	admitted := *page
	admitted.Items = make([]*index.Object, 0, len(page.Items))
	for _, o := range page.Items {
		of := o.Cluster
		if q.OfPods() {
			if o.Pod == nil || o.Pod.Cluster != o.Cluster {
				return nil, outside(o)
			}
			of = v1alpha1.VirtualClusterName(o.Pod.Instance)
		}
		one, err := admit(grants[of], q.Types, o)
		if err != nil {
			return nil, err
		}
		if one == nil {
			return nil, outside(o)
		}
		// A member that has just left the instance is no longer one whose pods may be seen.
		if q.OfPods() && r.instanceOf(ctx, o.Cluster) != o.Pod.Instance {
			continue
		}
		admitted.Items = append(admitted.Items, one)
	}
	if err := r.admitImages(ctx, grants, &admitted); err != nil {
		return nil, err
	}
	for _, scope := range q.Scopes {
		switch {
		case q.OfPods():
			admitted.Scoped = append(admitted.Scoped, scope.Cluster)
		case scope.SentBy != "":
			admitted.Scoped = append(admitted.Scoped, v1alpha1.VirtualClusterName(scope.SentBy))
		}
	}
	return &admitted, nil
}

// admitImages judges what has the images of a page. A member that has just left the instance is left out.
func (r *Reader) admitImages(ctx context.Context, grants map[string]authz.Grant, page *index.Page) error {
	images := slices.Clone(page.Images)
	for i := range images {
		for _, w := range images[i].First {
			if !grants[v1alpha1.VirtualClusterName(w.Instance)].CanRead(w.Namespace) {
				return outsideImage(w.Kind, w.Namespace+"/"+w.Name, w.Instance)
			}
		}
		var clusters []projection.ImageCluster
		for _, c := range images[i].Clusters {
			if _, visible := grants[v1alpha1.VirtualClusterName(c.Instance)]; !visible {
				return outsideImage("cluster", c.Cluster, c.Instance)
			}
			if r.instanceOf(ctx, c.Cluster) == c.Instance {
				clusters = append(clusters, c)
			}
		}
		images[i].Clusters = clusters
	}
	page.Images = images
	return nil
}

func outsideImage(kind, name, instance string) error {
	return apierror.Wrap(fmt.Errorf("the index answered with an image of %s %s of %s, which is outside of what it was asked for", kind, name, instance),
		apierror.CodeInternal, "internal error")
}

// outside is the error of an answer with an object that was not asked for.
func outside(o *index.Object) error {
	return apierror.Wrap(fmt.Errorf("the index answered with %s %s/%s of %s, which is outside of what it was asked for",
		o.Kind, o.Meta.Namespace, o.Meta.Name, o.Cluster), apierror.CodeInternal, "internal error")
}
