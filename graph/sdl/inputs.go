package sdl

import (
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// input is an argument, or a field of an input: to clients they are the same.
type input struct {
	name     string
	argument bool
	typ      *ast.Type
	// standard is the default; empty where there is none.
	standard   string
	directives ast.DirectiveList
}

func argumentInput(a *ast.ArgumentDefinition) *input {
	if a == nil {
		return nil
	}
	return &input{name: a.Name, argument: true, typ: a.Type, standard: text(a.DefaultValue), directives: a.Directives}
}

func fieldInput(f *ast.FieldDefinition) *input {
	if f == nil {
		return nil
	}
	return &input{name: f.Name, typ: f.Type, standard: text(f.DefaultValue), directives: f.Directives}
}

func (i *input) required() bool { return i.typ.NonNull && i.standard == "" }

func (i *input) path(parent string) string {
	if i.argument {
		return parent + "(" + i.name + ":)"
	}
	return parent + "." + i.name
}

func text(v *ast.Value) string {
	if v == nil {
		return ""
	}
	return v.String()
}

// promises reports whether one type gives everything that the other promises: it is
// the same, or says at more places that there is no null.
func promises(one, other *ast.Type) bool {
	switch {
	case other.NonNull && !one.NonNull, (one.Elem == nil) != (other.Elem == nil):
		return false
	case one.Elem != nil:
		return promises(one.Elem, other.Elem)
	default:
		return one.NamedType == other.NamedType
	}
}

// given are the types that answers may hold.
func given(doc *Document) map[string]bool {
	types := map[string]bool{}
	for _, def := range doc.Definitions {
		if def.Kind != ast.Object && def.Kind != ast.Interface {
			continue
		}
		for _, f := range def.Fields {
			types[f.Type.Name()] = true
		}
	}
	return types
}

// each visits what two lists have, by name: what the first one has in its order,
// then what only the second one has. What a list lacks is nil.
func each[T any](was, is []*T, name func(*T) string, visit func(was, is *T)) {
	find := func(list []*T, wanted string) *T {
		if i := slices.IndexFunc(list, func(one *T) bool { return name(one) == wanted }); i >= 0 {
			return list[i]
		}
		return nil
	}
	for _, one := range was {
		visit(one, find(is, name(one)))
	}
	for _, one := range is {
		if find(was, name(one)) == nil {
			visit(nil, one)
		}
	}
}

// without are the elements of a list that another one has not.
func without[T comparable](list, other []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool { return slices.Contains(other, one) })
}
