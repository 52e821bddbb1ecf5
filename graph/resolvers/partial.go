package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
)

// Partial answers. A part that can't be read must not cost the rest: a null in a non-null field
// would propagate and remove the whole answer. So where a source is unavailable, the field adds the
// error at its own path and returns what is true without it: an empty list whose freshness reports
// that nothing was observed, a health that is unknown.

// away reports whether an error is about something that does not answer now, and not
// about the request.
func away(err error) bool {
	switch apierror.CodeOf(err) {
	case apierror.CodeIndexUnavailable, apierror.CodeInstanceUnavailable, apierror.CodeTimeout:
		return true
	default:
		return false
	}
}

// orEmpty answers with an empty list when the list can't be read now.
func orEmpty[T any](ctx context.Context, c *page.Connection[T], err error) (*page.Connection[T], error) {
	if err == nil || !away(err) {
		return c, err
	}
	return unread[T](ctx, err), nil
}

// unread is the connection of a list that can't be read now. Its facets have the same error.
func unread[T any](ctx context.Context, err error) *page.Connection[T] {
	graphql.AddError(ctx, err)
	c := page.Unread[T](err.Error())
	c.FacetsErr = err
	return c
}

// orUnanswered is orEmpty, and takes what one of several instances has no answer to, a kind
// that it does not serve for example, for the matter of this instance alone.
func orUnanswered[T any](ctx context.Context, c *page.Connection[T], err error) (*page.Connection[T], error) {
	if errors.Is(err, uncollected.ErrUnanswered) && insideList(graphql.GetPath(ctx)) {
		return unread[T](ctx, err), nil
	}
	return orEmpty(ctx, c, err)
}

// orElse answers with another value when the right one can't be read now.
func orElse[T any](ctx context.Context, v T, err error, other T) (T, error) {
	if err == nil || !away(err) {
		return v, err
	}
	graphql.AddError(ctx, err)
	return other, nil
}
