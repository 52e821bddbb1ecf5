package guard_test

import (
	"cmp"
	"context"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/guard"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// checks answers for the instance alpha, and counts.
type checks struct {
	err  error
	made []string
}

func (c *checks) Visible(_ context.Context, check access.Check, instance string) (bool, error) {
	c.made = append(c.made, string(check)+" "+instance)
	return check != access.CheckInstance || instance == "alpha", c.err
}

func TestGuard(t *testing.T) {
	undecided := apierror.New(apierror.CodeTimeout, "no answer")
	name, wrong := "name", "none"
	for _, tt := range []struct {
		name         string
		object       string // Query where it is empty.
		by           access.Check
		argument     *string
		args         map[string]any
		nonNull      bool
		err          error
		wantResolved bool
		wantCode     apierror.Code
		wantMade     string
		why          string
	}{
		{name: "caller", by: access.CheckCaller, wantResolved: true, wantMade: "CALLER "},
		{name: "visible", by: access.CheckVisible, wantResolved: true, wantMade: "VISIBLE ", why: "what is found is confined below"},
		{name: "undecided", by: access.CheckVisible, err: undecided, wantCode: apierror.CodeTimeout, wantMade: "VISIBLE ", why: "no answer is no refusal"},
		{name: "instance", by: access.CheckInstance, argument: &name, args: map[string]any{"name": "alpha"}, wantResolved: true, wantMade: "INSTANCE alpha"},
		{name: "hidden instance", by: access.CheckInstance, argument: &name, args: map[string]any{"name": "beta"}, wantMade: "INSTANCE beta", why: "null, as for a missing one"},
		{
			name: "hidden instance of a field that is never null", by: access.CheckInstance, argument: &name, args: map[string]any{"name": "beta"}, nonNull: true,
			wantCode: apierror.CodeNotFound, wantMade: "INSTANCE beta",
		},
		{
			name: "hidden instance of a mutation", object: "Mutation", by: access.CheckInstance, argument: &name, args: map[string]any{"name": "beta"},
			wantCode: apierror.CodeNotFound, wantMade: "INSTANCE beta", why: "null without an error would pass for a change that was made",
		},
		{name: "argument that the field has not", by: access.CheckInstance, argument: &wrong, args: map[string]any{"name": "alpha"}, wantCode: apierror.CodeInternal, why: "a mistake in the schema lets no user in"},
		{name: "no argument", by: access.CheckInstance, args: map[string]any{"name": "alpha"}, wantCode: apierror.CodeInternal, why: "a mistake in the schema lets no user in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &checks{err: tt.err}
			ctx := graphql.WithFieldContext(t.Context(), &graphql.FieldContext{
				Object: cmp.Or(tt.object, "Query"), Args: tt.args,
				Field: graphql.CollectedField{Field: &ast.Field{Name: "f", Definition: &ast.FieldDefinition{Type: &ast.Type{NamedType: "T", NonNull: tt.nonNull}}}},
			})
			resolved := false
			value, err := guard.New(c)(ctx, nil, func(context.Context) (any, error) {
				resolved = true
				return "value", nil
			}, tt.by, tt.argument)
			if resolved != tt.wantResolved || (value != nil) != tt.wantResolved {
				t.Errorf("resolved: %v with %v, want %v: %s", resolved, value, tt.wantResolved, tt.why)
			}
			if (err != nil) != (tt.wantCode != "") || (err != nil && apierror.CodeOf(err) != tt.wantCode) {
				t.Errorf("got %v, want %q: %s", err, tt.wantCode, tt.why)
			}
			if made := append(c.made, "")[0]; made != tt.wantMade {
				t.Errorf("made the check %q, want %q", made, tt.wantMade)
			}
		})
	}
}
