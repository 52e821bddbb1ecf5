package uncollected

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

// reader reads a page of a kind from an instance. It is asked below what confines reads to
// what the user may see, and for nothing but single pages.
type reader struct {
	index.Reader

	clients instanceproxy.Clients
	access  *access.Access
	now     func() time.Time
}

// PageOf implements index.Reader.
func (r *reader) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	instance := v1alpha1.InstanceOfVirtualCluster(part.Cluster)
	client, err := r.clients.Get(ctx, instance)
	if err != nil {
		return nil, err
	}
	kind, err := find(ctx, client, q.Types[0].GroupVersionResource())
	if err != nil {
		return nil, err
	}
	namespaces, err := namespacesOf(kind, part.Cluster, &q)
	if err != nil {
		return nil, err
	}
	at, secrets := r.now(), access.IsSecret(kind.Type())
	detail, as := q.Detail, ctx
	if secrets {
		detail, as = index.Metadata, instanceproxy.AsKairship(ctx)
	}
	l := list{client: client, kind: kind, detail: detail, at: at, query: &q}
	for _, namespace := range namespaces {
		if err := l.read(as, namespace); err != nil {
			return nil, l.explain(ctx, err)
		}
	}
	page := q.Pick(l.objects)
	page.ReadAt = at
	switch {
	case secrets && q.Detail == index.Whole:
		err = r.readSecrets(ctx, &l, page)
	case secrets:
		err = conceal(page.Items)
	}
	return page, err
}

// namespacesOf are the namespaces to list, one by one; "" stands for all objects. What a
// query may not have, or does not want, is not asked for, except where it wants so many
// namespaces of an instance that may be listed as a whole that they are picked afterwards.
func namespacesOf(kind write.Kind, cluster string, q *index.ListQuery) ([]string, error) {
	wanted := slices.DeleteFunc(slices.Clone(q.Namespaces), func(n string) bool { return n == "" })
	var scope index.Scope
	if i := slices.IndexFunc(q.Scopes, func(s index.Scope) bool { return s.Cluster == cluster }); i >= 0 {
		scope = q.Scopes[i]
	}
	whole := slices.Contains(q.Clusters, cluster)
	switch {
	case !kind.Namespaced:
		if (len(q.Namespaces) > len(wanted) || len(q.Namespaces) == 0) && (whole || len(scope.Names) > 0) {
			return []string{""}, nil
		}
		return nil, nil
	case len(q.Namespaces) > 0 && len(wanted) == 0:
		return nil, nil
	case whole || scope.EveryNamespace:
		if len(wanted) == 0 || len(wanted) > mostNamespaces {
			return []string{""}, nil
		}
		return wanted, nil
	case len(scope.Namespaces) > mostNamespaces:
		return nil, unanswered(apierror.Invalid("filter.namespaces",
			"the index does not collect this kind, and the instance would be asked for %d namespaces one by one; name %d at most", len(scope.Namespaces), mostNamespaces))
	}
	return scope.Namespaces, nil
}

// list is what is read of a kind for a query.
type list struct {
	client  instanceproxy.Client
	kind    write.Kind
	detail  index.Detail
	at      time.Time
	query   *index.ListQuery
	objects []*index.Object
	seen    int
}

// read reads the objects in a namespace; "" stands for all.
func (l *list) read(ctx context.Context, namespace string) error {
	done, err := quota.Acquire(ctx, quota.ToInstance)
	if err != nil {
		return err
	}
	defer done()
	what := write.Listing{Kind: l.kind, Namespace: namespace, MetadataOnly: l.detail == index.Metadata}
	if l.query.Selector != nil {
		what.Selector = l.query.Selector.String()
	}
	if len(l.query.Names) == 1 {
		what.Name = l.query.Names[0]
	}
	cluster := v1alpha1.VirtualClusterName(l.client.Instance())
	more, err := write.Each(ctx, l.client, what, func(item *json.RawMessage) error {
		l.seen++
		if l.seen > mostObjects {
			return errTooMany
		}
		o, err := index.NewListed(cluster, l.kind.Type(), *item, l.detail, l.at)
		l.objects = append(l.objects, o)
		return err
	})
	if err == nil && more {
		err = errTooMany
	}
	return err
}

// errTooMany: the instance has more objects than are read.
var errTooMany = errors.New("there are too many objects")

// explain is the error of a list for the caller.
func (l *list) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errTooMany):
		return unanswered(apierror.Invalid("filter",
			"the index does not collect %s, and instance %q has more than %d of them; narrow the list with filter.namespaces or filter.labelSelector",
			l.kind.GroupResource(), l.client.Instance(), mostObjects))
	case apierror.Is(err, apierror.CodeForbidden) && access.IsSecret(l.kind.Type()):
		return apierror.Wrap(err, apierror.CodeInstanceUnavailable,
			"instance %q does not let Kairship list Secrets; its administrator has to permit it", l.client.Instance())
	case apierror.Is(err, apierror.CodeForbidden):
		return unanswered(err)
	case apierror.Is(err, apierror.CodeNotFound):
		// The kind went, or its server did, since the instance was asked what it serves.
		if _, gone := findAgain(ctx, l.client, l.kind.GroupVersionResource); gone != nil {
			return gone
		}
		return apierror.Wrap(err, apierror.CodeInstanceUnavailable, "instance %q does not serve %s at this moment; try again", l.client.Instance(), l.kind.GroupResource())
	case ctx.Err() != nil:
		return apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "instance %q did not answer before the request's deadline", l.client.Instance())
	}
	return err
}
