package resolvers

import (
	"context"
	"fmt"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/warning"
	"github.com/kairship-io/kairship/pkg/fleet/page"
)

// The arguments of lists that name namespaces: a list of them, and a single one.
const (
	namespacesArgument = "filter.namespaces"
	namespaceArgument  = "namespace"
)

// warnOfNamespaces warns of the namespaces of a filter that no instance of a list has,
// where the list is empty. A namespace that the caller may not see is like one that is
// not there. It costs one request at most: lists inside lists are not looked at.
func warnOfNamespaces[T any](ctx context.Context, r *Resolver, c *page.Connection[T], instances []string, argument string, namespaces []string) {
	path := graphql.GetPath(ctx)
	if c == nil || !mayMiss(c.PageInfo, len(c.Nodes)) || len(namespaces) == 0 || len(instances) == 0 || insideList(path) ||
		c.Freshness.Stale || c.Freshness.ObservedAt == nil {
		return
	}
	unknown, err := r.Fleet.Namespaces.Unknown(ctx, instances, namespaces)
	if err != nil {
		return // The list itself was read; what is not known is not warned of.
	}
	where := "none of the instances of the list has a"
	if len(instances) == 1 {
		where = fmt.Sprintf("instance %q has no", instances[0])
	}
	for i, name := range namespaces {
		if slices.Contains(unknown, name) {
			at := argument
			if argument == namespacesArgument {
				at = fmt.Sprintf("%s[%d]", argument, i)
			}
			warning.Add(ctx, warning.Warning{
				Code: warning.CodeUnknownNamespace, Path: path, Argument: at,
				// It does not repeat the name, so that answers about hidden namespaces are the same byte by byte.
				Message: where + " namespace of this name that you can see: check the argument",
			})
		}
	}
}

// mayMiss reports whether a list is empty as a whole.
func mayMiss(p page.Info, shown int) bool { return shown == 0 && !p.HasNextPage && !p.HasPreviousPage }

// insideList reports whether a field is on an item of a list.
func insideList(path ast.Path) bool {
	return slices.ContainsFunc(path, func(e ast.PathElement) bool {
		_, ok := e.(ast.PathIndex)
		return ok
	})
}
