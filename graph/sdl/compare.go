package sdl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Severity is what a change means to clients that were written before it.
type Severity int

const (
	// Safe changes are noticed only by clients that look for them.
	Safe Severity = iota
	// Dangerous changes keep every operation valid, and may give a client something that it does
	// not expect: another default, one more value of an enum.
	Dangerous
	// Breaking changes make operations invalid that were valid, or give a client
	// what its types do not allow.
	Breaking
)

// String implements fmt.Stringer.
func (s Severity) String() string { return [...]string{"safe", "dangerous", "breaking"}[s] }

// Change is one difference between two schemas.
type Change struct {
	Severity Severity
	// Path is where it is, as a schema coordinate: Instance.workloads(first:).
	Path string
	// What happened, for a person.
	What string
}

// String implements fmt.Stringer.
func (c Change) String() string { return fmt.Sprintf("%-9s  %s: %s", c.Severity, c.Path, c.What) }

// Compare lists what has changed from one published schema to another, the worst
// first. Descriptions are not compared.
func Compare(before, after *Document) []Change {
	c := &comparison{before: before, given: given(after)}
	each(before.Definitions, after.Definitions, func(d *ast.Definition) string { return d.Name }, c.types)
	each(before.Directives, after.Directives, func(d *ast.DirectiveDefinition) string { return d.Name }, c.directives)
	c.applied("schema", schemaDirectives(before), schemaDirectives(after))
	slices.SortStableFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Path, b.Path))
	})
	return c.changes
}

type comparison struct {
	before *Document
	// given are the enums that an answer may hold; the others are only sent.
	given   map[string]bool
	changes []Change
}

func (c *comparison) addf(severity Severity, path, format string, args ...any) {
	c.changes = append(c.changes, Change{Severity: severity, Path: path, What: fmt.Sprintf(format, args...)})
}

func (c *comparison) types(was, is *ast.Definition) {
	switch {
	case is == nil:
		c.addf(Breaking, was.Name, "is gone")
		return
	case was == nil:
		c.addf(Safe, is.Name, "is new")
		for _, name := range is.Interfaces {
			if c.before.Definitions.ForName(name) != nil {
				c.addf(Dangerous, is.Name, "is one more type that implements %s", name)
			}
		}
		return
	case was.Kind != is.Kind:
		c.addf(Breaking, is.Name, "was of kind %s and is of kind %s", was.Kind, is.Kind)
		return
	}
	c.applied(is.Name, was.Directives, is.Directives)
	c.names(is.Name, was.Interfaces, is.Interfaces, "implements")
	c.names(is.Name, was.Types, is.Types, "has the member")
	each(was.Fields, is.Fields, func(f *ast.FieldDefinition) string { return f.Name }, func(before, after *ast.FieldDefinition) {
		if is.Kind == ast.InputObject {
			c.inputs(is.Name, fieldInput(before), fieldInput(after))
		} else {
			c.fields(is.Name, before, after)
		}
	})
	each(was.EnumValues, is.EnumValues, func(v *ast.EnumValueDefinition) string { return v.Name }, func(before, after *ast.EnumValueDefinition) {
		c.values(is.Name, before, after)
	})
}

// names compares the interfaces of a type, or the members of a union.
func (c *comparison) names(path string, was, is []string, relation string) {
	for _, name := range without(was, is) {
		c.addf(Breaking, path, "no longer %s %s", relation, name)
	}
	for _, name := range without(is, was) {
		c.addf(Dangerous, path, "now %s %s", relation, name)
	}
}

func (c *comparison) fields(parent string, was, is *ast.FieldDefinition) {
	switch {
	case is == nil:
		c.addf(Breaking, parent+"."+was.Name, "is gone")
		return
	case was == nil:
		c.addf(Safe, parent+"."+is.Name, "is new")
		return
	}
	path := parent + "." + is.Name
	switch was, is := was.Type, is.Type; {
	case was.String() == is.String():
	case promises(is, was):
		c.addf(Safe, path, "was %s and is %s", was, is)
	default:
		c.addf(Breaking, path, "was %s and is %s", was, is)
	}
	c.applied(path, was.Directives, is.Directives)
	c.arguments(path, was.Arguments, is.Arguments)
}

func (c *comparison) arguments(path string, was, is ast.ArgumentDefinitionList) {
	each(was, is, func(a *ast.ArgumentDefinition) string { return a.Name }, func(before, after *ast.ArgumentDefinition) {
		c.inputs(path, argumentInput(before), argumentInput(after))
	})
}

// inputs compares arguments, and fields of inputs.
func (c *comparison) inputs(parent string, was, is *input) {
	switch {
	case is == nil:
		c.addf(Breaking, was.path(parent), "is gone")
		return
	case was == nil && is.required():
		c.addf(Breaking, is.path(parent), "is new and required: it has neither null nor a default")
		return
	case was == nil:
		c.addf(Safe, is.path(parent), "is new")
		return
	}
	path := is.path(parent)
	switch {
	case was.typ.String() == is.typ.String():
	case promises(was.typ, is.typ):
		c.addf(Safe, path, "was %s and is %s", was.typ, is.typ)
	default:
		c.addf(Breaking, path, "was %s and is %s", was.typ, is.typ)
	}
	switch was.standard = cmp.Or(was.standard, "none"); {
	case was.standard == cmp.Or(is.standard, "none"):
	case is.required() && !was.required():
		c.addf(Breaking, path, "has no default any more, and is required")
	default:
		c.addf(Dangerous, path, "had the default %s and has %s", was.standard, cmp.Or(is.standard, "none"))
	}
	c.applied(path, was.directives, is.directives)
}

func (c *comparison) values(enum string, was, is *ast.EnumValueDefinition) {
	switch {
	case is == nil:
		c.addf(Breaking, enum+"."+was.Name, "is gone")
	case was == nil && c.given[enum]:
		c.addf(Dangerous, enum+"."+is.Name, "is a new value that answers may have")
	case was == nil:
		c.addf(Safe, enum+"."+is.Name, "is new")
	default:
		c.applied(enum+"."+is.Name, was.Directives, is.Directives)
	}
}

func (c *comparison) directives(was, is *ast.DirectiveDefinition) {
	switch {
	case is == nil:
		c.addf(Breaking, "@"+was.Name, "is gone")
		return
	case was == nil:
		c.addf(Safe, "@"+is.Name, "is new")
		return
	}
	path := "@" + is.Name
	for _, location := range without(was.Locations, is.Locations) {
		c.addf(Breaking, path, "may no longer stand at %s", location)
	}
	if was.IsRepeatable && !is.IsRepeatable {
		c.addf(Breaking, path, "may no longer be repeated")
	}
	c.arguments(path, was.Arguments, is.Arguments)
}
