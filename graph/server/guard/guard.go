// Package guard implements the schema's directive guard.
package guard

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// Checker makes the checks that the schema names; *access.Access is one.
type Checker interface {
	Visible(ctx context.Context, check access.Check, instance string) (bool, error)
}

// hidden is the error of an instance that may not be seen. For a mutation it
// has the input that names it. It is the same for one that does not exist.
func hidden(instance, argument string) error {
	err := apierror.NotFound("Instance", instance)
	if strings.Contains(argument, ".") {
		err.Argument = argument
	}
	return err
}

// textAt is the text of an argument, or of a field of an input: "name", "input.instance".
func textAt(ctx context.Context, fc *graphql.FieldContext, path string) (string, bool) {
	argument, field, nested := strings.Cut(path, ".")
	if !nested {
		text, ok := fc.Args[argument].(string)
		return text, ok
	}
	var variables map[string]any
	if graphql.HasOperationContext(ctx) {
		variables = graphql.GetOperationContext(ctx).Variables
	}
	// The input as it was sent: what it was decoded into is the resolver's own type.
	input, ok := fc.Field.ArgumentMap(variables)[argument].(map[string]any)
	if !ok {
		return "", false
	}
	text, ok := input[field].(string)
	return text, ok
}

// New returns the directive guard: it makes the check that a field
// names, and has the field resolved only after it.
//
// A field whose instance the caller may not see is answered as for one that does
// not exist: null, or NOT_FOUND where the field is never null and for mutations, of
// which null alone would not say that nothing was done.
func New(checks Checker) func(context.Context, any, graphql.Resolver, access.Check, *string) (any, error) {
	return func(ctx context.Context, _ any, next graphql.Resolver, by access.Check, argument *string) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		var instance string
		if by == access.CheckInstance {
			var ok bool
			if argument != nil {
				instance, ok = textAt(ctx, fc, *argument)
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
		case fc.Field.Definition.Type.NonNull || fc.Object == "Mutation":
			return nil, hidden(instance, *cmp.Or(argument, new(string)))
		}
		return nil, nil //nolint:nilnil // Null in the answer.
	}
}
