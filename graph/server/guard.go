package server

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// Checker makes the checks that the schema names; *access.Access is one.
type Checker interface {
	Visible(ctx context.Context, check access.Check, instance string) (bool, error)
}

// Guard implements the schema's directive guard: it makes the check that a field
// names, and has the field resolved only after it.
//
// A field whose instance the caller may not see is answered as for one that does
// not exist: null, or NOT_FOUND where the field is never null.
func Guard(checks Checker) func(context.Context, any, graphql.Resolver, access.Check, *string) (any, error) {
	return func(ctx context.Context, _ any, next graphql.Resolver, by access.Check, argument *string) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		var instance string
		if by == access.CheckInstance {
			var ok bool
			if argument != nil {
				instance, ok = fc.Args[*argument].(string)
			}
			if !ok {
				return nil, fmt.Errorf("the guard of %s.%s names no argument that is the name of an instance", fc.Object, fc.Field.Name)
			}
		}
		visible, err := checks.Visible(ctx, by, instance)
		switch {
		case err != nil:
			return nil, err
		case visible:
			return next(ctx)
		case fc.Field.Definition.Type.NonNull:
			return nil, apierror.NotFound("Instance", instance)
		}
		return nil, nil //nolint:nilnil // Null in the answer.
	}
}
