package resolvers

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// inputArgument is the path of the input that is being read, for example
// "input.spec.resourceSelectors[0].labelSelector.matchLabels".
func inputArgument(ctx context.Context) string {
	var path ast.Path
	for at := graphql.GetPathContext(ctx); at != nil; at = at.Parent {
		switch {
		case at.Index != nil:
			path = append(path, ast.PathIndex(*at.Index))
		case at.Field != nil:
			path = append(path, ast.PathName(*at.Field))
		}
	}
	slices.Reverse(path)
	return path.String()
}
