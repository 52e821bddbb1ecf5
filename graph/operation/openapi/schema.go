package openapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
)

// Schema is a JSON schema, as far as it is needed here.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        Types              `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
}

// Types are the types that a value may have.
type Types []string

// MarshalJSON implements json.Marshaler: a single type is a string.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// writer writes schemas, and collects those that others refer to.
type writer struct {
	schema     *ast.Schema
	components map[string]*Schema
	// inline is set where nothing may be referred to.
	inline bool
}

// Variables is the schema of the variables of an operation, which refers to nothing.
func Variables(op *operation.Operation, schema *ast.Schema) *Schema {
	w := &writer{schema: schema, components: map[string]*Schema{}, inline: true}
	s := &Schema{Type: one("object"), Properties: map[string]*Schema{}}
	for _, v := range op.Definition.VariableDefinitions {
		of := w.input(v.Type)
		if text := op.Described(v.Variable); text != "" {
			of.Description = text
		}
		s.Properties[v.Variable] = of
		if v.Type.NonNull && v.DefaultValue == nil {
			s.Required = append(s.Required, v.Variable)
		}
	}
	return s
}

func one(name string) []string { return []string{name} }

func component(name string) string { return "#/components/schemas/" + name }

// scalar is the schema of a scalar; without a type for any JSON.
func scalar(name string) *Schema {
	switch name {
	case "Int":
		return &Schema{Type: one("integer"), Format: "int32"}
	case "Int64":
		return &Schema{Type: one("integer"), Format: "int64"}
	case "Float":
		return &Schema{Type: one("number")}
	case "Boolean":
		return &Schema{Type: one("boolean")}
	case "Time":
		return &Schema{Type: one("string"), Format: "date-time"}
	case "JSON":
		return &Schema{}
	}
	return &Schema{Type: one("string")}
}

// nullable is a schema that allows null too.
func nullable(s *Schema) *Schema {
	switch {
	case s.Ref != "":
		return &Schema{AnyOf: []*Schema{s, {Type: one("null")}}}
	case len(s.Type) > 0:
		s.Type = append(s.Type, "null")
	}
	return s
}

// input is the schema of a type of variables and of the fields of inputs.
func (w *writer) input(of *ast.Type) *Schema {
	var s *Schema
	switch def := w.schema.Types[of.NamedType]; {
	case of.Elem != nil:
		s = &Schema{Type: one("array"), Items: w.input(of.Elem)}
	case def.Kind == ast.Enum:
		s = w.enum(def)
	case def.Kind == ast.InputObject:
		s = w.inputObject(def)
	default:
		s = scalar(def.Name)
	}
	if !of.NonNull {
		return nullable(s)
	}
	return s
}

func (w *writer) enum(def *ast.Definition) *Schema {
	if w.components[def.Name] == nil {
		s := &Schema{Type: one("string"), Description: def.Description}
		for _, value := range def.EnumValues {
			s.Enum = append(s.Enum, value.Name)
		}
		if w.inline {
			return s
		}
		w.components[def.Name] = s
	}
	return &Schema{Ref: component(def.Name)}
}

func (w *writer) inputObject(def *ast.Definition) *Schema {
	if w.components[def.Name] == nil {
		s := &Schema{Type: one("object"), Description: def.Description, Properties: map[string]*Schema{}}
		if !w.inline {
			w.components[def.Name] = s // First, because it may have fields of its own type.
		}
		for _, field := range def.Fields {
			of := w.input(field.Type)
			of.Description = field.Description
			s.Properties[field.Name] = of
			if field.Type.NonNull && field.DefaultValue == nil {
				s.Required = append(s.Required, field.Name)
			}
		}
		if w.inline {
			return s
		}
	}
	return &Schema{Ref: component(def.Name)}
}

// output is the schema of what a field answers.
func (w *writer) output(of *ast.Type, set ast.SelectionSet) *Schema {
	var s *Schema
	switch def := w.schema.Types[of.NamedType]; {
	case of.Elem != nil:
		s = &Schema{Type: one("array"), Items: w.output(of.Elem, set)}
	case def.Kind == ast.Enum:
		s = w.enum(def)
	case def.IsLeafType():
		s = scalar(def.Name)
	default:
		s = w.shared(def.Name, w.object(set, def.Name))
	}
	if !of.NonNull {
		return nullable(s)
	}
	return s
}

// shared makes the schema of a type a component, so that clients have one type for it. A second selection of the type that
// differs from the first stays where it is.
func (w *writer) shared(name string, s *Schema) *Schema {
	switch first, ok := w.components[name]; {
	case !ok:
		w.components[name] = s
	case !reflect.DeepEqual(first, s):
		return s
	}
	return &Schema{Ref: component(name)}
}

// object is the schema of the objects of a type with a selection. Fields that only some of its types have are optional.
func (w *writer) object(set ast.SelectionSet, typeName string) *Schema {
	s := &Schema{Type: one("object"), Properties: map[string]*Schema{}}
	for _, selection := range set {
		switch sel := selection.(type) {
		case *ast.Field:
			of := w.output(sel.Definition.Type, sel.SelectionSet)
			if of.Description == "" && of.Ref == "" {
				of.Description = sel.Definition.Description
			}
			if sel.Name == "__typename" {
				of = &Schema{Type: one("string"), Description: "The name of the object's type."}
			}
			s.Properties[sel.Alias] = of
			s.Required = append(s.Required, sel.Alias)
		case *ast.InlineFragment:
			w.merge(s, sel.SelectionSet, sel.TypeCondition, typeName)
		case *ast.FragmentSpread:
			w.merge(s, sel.Definition.SelectionSet, sel.Definition.TypeCondition, typeName)
		}
	}
	slices.Sort(s.Required)
	s.Required = slices.Compact(s.Required)
	return s
}

// merge adds the fields of a fragment.
func (w *writer) merge(into *Schema, set ast.SelectionSet, condition, typeName string) {
	part := w.object(set, condition)
	maps.Copy(into.Properties, part.Properties)
	if condition == typeName {
		into.Required = append(into.Required, part.Required...)
	}
}

// addProblem adds the schemas of errors.
func (w *writer) addProblem() {
	text := func(description string) *Schema { return &Schema{Type: one("string"), Description: description} }
	failure := func() map[string]*Schema {
		return map[string]*Schema{
			"detail": text("What was wrong, where, and what to do."),
			"code":   text("The kind of the failure, for programs, as docs/graphql.md lists them."),
			"path":   {Type: one("array"), Items: &Schema{Type: []string{"string", "integer"}}, Description: "Where in the result of the operation it happened."},
			"more":   {Type: one("object"), Description: "What else is known, such as `argument`, `instance` and `traceId`."},
		}
	}
	w.components["Failure"] = &Schema{Type: one("object"), Properties: failure(), Required: one("detail")}
	problem := &Schema{Type: one("object"), Properties: failure(), Required: []string{"title", "status", "detail"}}
	problem.Properties["title"] = text("The status in words.")
	problem.Properties["status"] = &Schema{Type: one("integer"), Format: "int32", Description: "The status of the answer."}
	problem.Properties["others"] = &Schema{Type: one("array"), Items: &Schema{Ref: component("Failure")}, Description: "The other errors of the same request."}
	w.components["Problem"] = problem
}
