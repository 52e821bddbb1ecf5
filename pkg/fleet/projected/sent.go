package projected

import (
	"context"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Sent reads to which member clusters workloads were sent; *projection.DB is one.
type Sent interface {
	SentTo(ctx context.Context, scopes []projection.Scope) (map[projection.Sent]bool, projection.Moment, error)
}

// restrict restricts the scopes of member clusters to the namespaces that a workload was sent to,
// with one statement for all of them. It returns the moment that the statement shows; zero where
// none was needed. The scopes stay, also where nothing remains in them.
func (s *Source) restrict(ctx context.Context, q index.ListQuery) (index.ListQuery, time.Time, error) {
	var asked []projection.Scope
	for _, scope := range q.Scopes {
		if scope.SentBy != "" {
			asked = append(asked, projection.Scope{Instance: scope.SentBy, Namespaces: slices.Concat(scope.Namespaces, scope.Names)})
		}
	}
	if len(asked) == 0 {
		return q, time.Time{}, nil
	}
	if s.Sent == nil {
		return q, time.Time{}, apierror.New(apierror.CodeIndexUnavailable,
			"Objects in member clusters cannot be listed for users of single namespaces here: the API server was started without --index-database-file; ask the operator of Kairship for it")
	}
	var sent map[projection.Sent]bool
	asOf, err := s.askCurrent(ctx, false, func(ctx context.Context) (projection.Moment, error) {
		var at projection.Moment
		var err error
		sent, at, err = s.Sent.SentTo(ctx, asked)
		return at, err
	})
	if err != nil {
		return q, time.Time{}, err
	}
	q.Scopes = slices.Clone(q.Scopes)
	for i := range q.Scopes {
		q.Scopes[i] = onlySent(q.Scopes[i], sent)
	}
	return q, asOf, nil
}

// onlySent is what remains of a scope; the namespaces are also the names of Namespaces.
func onlySent(scope index.Scope, sent map[projection.Sent]bool) index.Scope {
	if scope.SentBy == "" {
		return scope
	}
	elsewhere := func(namespace string) bool {
		return !sent[projection.Sent{Instance: scope.SentBy, Namespace: namespace, Cluster: scope.Cluster}]
	}
	return index.Scope{
		Cluster:    scope.Cluster,
		Namespaces: slices.DeleteFunc(slices.Clone(scope.Namespaces), elsewhere),
		Names:      slices.DeleteFunc(slices.Clone(scope.Names), elsewhere),
	}
}

// listSent reads the same page of several parts after restrict.
func (s *Source) listSent(ctx context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	restricted, asOf, err := s.restrict(ctx, q)
	if err != nil {
		return nil, err
	}
	pages, err := s.Index.ListParts(ctx, restricted, parts)
	if err != nil || asOf.IsZero() {
		return pages, err
	}
	for part, page := range pages {
		if slices.ContainsFunc(q.Scopes, func(scope index.Scope) bool { return scope.Cluster == part.Cluster && scope.SentBy != "" }) {
			page.AsOf = asOf
		}
	}
	return pages, nil
}
