package validation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/kairship-io/kairship/graph/scalar"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/redact"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// Variables coerces the variables of operations by the rules of the GraphQL
// specification, before anything is executed. gqlparser, which is given what comes out,
// takes "2" for an Int, 5 for a String inside of inputs, and enum values in any case.
type Variables struct {
	Schema *ast.Schema
	Cache  *document.Cache
	// Suggest lets errors suggest names of the schema.
	Suggest bool
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
} = Variables{}

// ExtensionName implements graphql.HandlerExtension.
func (Variables) ExtensionName() string { return "Variables" }

// Validate implements graphql.HandlerExtension.
func (Variables) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator. It is used
// after limits, which parses documents that are not known.
func (v Variables) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	opCtx := graphql.GetOperationContext(ctx)
	doc, known := v.Cache.Peek(params.Query)
	if !known {
		doc = opCtx.Doc
	}
	if doc == nil {
		return nil // It does not parse, and gqlgen says why.
	}
	op := doc.Operations.ForName(params.OperationName)
	if op == nil {
		return nil // gqlgen reports that there is none.
	}
	coerced, wrong := coerce(v.Schema, op, params.Variables)
	if wrong == nil {
		params.Variables = coerced
		return nil
	}
	if !known && len(validator.ValidateWithRules(v.Schema, doc, Rules(v.Suggest))) > 0 {
		return nil // A document that is not valid is refused first, by gqlgen.
	}
	opCtx.RawQuery, opCtx.Doc, opCtx.Operation = params.Query, doc, op // For the log.
	return gqlerror.Wrap(apierror.Invalid(redact.Path(inputsOf(doc).argumentOf(wrong)), "the variable %s %s", redact.Path("$"+wrong.variable+wrong.path), wrong.message))
}

// MutateOperationContext implements graphql.OperationContextMutator. A variable that may
// be null may be used where null is not allowed and there is a default; gqlgen would take
// the null for false, or empty text.
func (Variables) MutateOperationContext(_ context.Context, opCtx *graphql.OperationContext) *gqlerror.Error {
	for _, def := range opCtx.Operation.VariableDefinitions {
		if value, given := opCtx.Variables[def.Variable]; !given || value != nil {
			continue
		}
		if argument, required := inputsOf(opCtx.Doc).required[def.Variable]; required {
			return gqlerror.Wrap(apierror.Invalid(redact.Path(argument), "the variable %s is null, which is not allowed here: leave it out for the default", redact.Path("$"+def.Variable)))
		}
	}
	return nil
}

// wrongVariable is a variable that does not fit its type.
type wrongVariable struct {
	// variable is its name, and path leads from it to the value: ".images[0].image".
	variable, path string
	// message says what is wrong with the value, without it.
	message string
	// absent: the variable itself has no value, so nothing is wrong with its use.
	absent bool
}

// coerce reads the variables of an operation (section 6.1.2 of the specification). Those
// that are not given are left out. It expects a document that limits let pass.
func coerce(schema *ast.Schema, op *ast.OperationDefinition, given map[string]any) (map[string]any, *wrongVariable) {
	coerced := make(map[string]any, len(given))
	for _, def := range op.VariableDefinitions {
		value, ok := given[def.Variable]
		switch {
		case !ok && (def.DefaultValue != nil || !def.Type.NonNull):
			continue
		case !ok:
			return nil, &wrongVariable{variable: def.Variable, message: "is required, and is missing", absent: true}
		case value == nil && def.Type.NonNull:
			return nil, &wrongVariable{variable: def.Variable, message: "is required, and is null", absent: true}
		}
		c := coercion{schema: schema}
		result, ok := c.value(def.Type, value, "")
		if !ok {
			c.wrong.variable = def.Variable
			return nil, c.wrong
		}
		coerced[def.Variable] = result
	}
	return coerced, nil
}

// coercion is that of one variable.
type coercion struct {
	schema *ast.Schema
	wrong  *wrongVariable
}

func (c *coercion) fail(path, format string, args ...any) (any, bool) {
	c.wrong = &wrongVariable{path: path, message: fmt.Sprintf(format, args...)}
	return nil, false
}

func (c *coercion) value(t *ast.Type, v any, path string) (any, bool) {
	def := c.schema.Types[t.Name()]
	switch {
	case v == nil && t.NonNull:
		return c.fail(path, "is required, and is null")
	case v == nil:
		return nil, true
	case def == nil:
		return v, true // The document is not valid, and is refused for that.
	case t.Elem != nil:
		return c.list(t.Elem, v, path)
	}
	switch def.Kind {
	case ast.Scalar:
		read, err := scalar.Read(def.Name, v)
		if err != nil {
			return c.fail(path, "%s", err)
		}
		return read, true
	case ast.Enum:
		return c.enum(def, v, path)
	case ast.InputObject:
		return c.object(def, v, path)
	default:
		return v, true // No type of inputs: as above.
	}
}

// list takes a value that is no list for a list of one.
func (c *coercion) list(elem *ast.Type, v any, path string) (any, bool) {
	items, ok := v.([]any)
	if !ok {
		item, ok := c.value(elem, v, path)
		return []any{item}, ok
	}
	read := make([]any, len(items))
	for i, item := range items {
		if read[i], ok = c.value(elem, item, path+"["+strconv.Itoa(i)+"]"); !ok {
			return nil, false
		}
	}
	return read, true
}

func (c *coercion) enum(def *ast.Definition, v any, path string) (any, bool) {
	name, ok := v.(string)
	switch {
	case !ok:
		return c.fail(path, "must be a value of the enum %s, and is %s", def.Name, scalar.KindOf(v))
	case def.EnumValues.ForName(name) == nil:
		return c.fail(path, "must be a value of the enum %s, and is another string", def.Name)
	}
	return name, true
}

func (c *coercion) object(def *ast.Definition, v any, path string) (any, bool) {
	fields, ok := v.(map[string]any)
	if !ok {
		return c.fail(path, "must be an object (%s), and is %s", def.Name, scalar.KindOf(v))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if def.Fields.ForName(name) == nil {
			return c.fail(path+"."+name, "is not a field of %s", def.Name)
		}
	}
	read := make(map[string]any, len(fields))
	for _, field := range def.Fields {
		value, given := fields[field.Name]
		if !given {
			if field.Type.NonNull && field.DefaultValue == nil {
				return c.fail(path+"."+field.Name, "is required, and is missing")
			}
			continue
		}
		if read[field.Name], ok = c.value(field.Type, value, path+"."+field.Name); !ok {
			return nil, false
		}
	}
	return read, true
}
