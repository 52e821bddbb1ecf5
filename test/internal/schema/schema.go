// Package schema walks the served schema, so that a list or an argument that is
// added to it without a test makes a test fail.
package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/generated"
)

// Load is the schema that Kairship serves.
func Load() *ast.Schema { return generated.NewExecutableSchema(generated.Config{}).Schema() }

// List is a field that gives a connection.
type List struct {
	// Parent is the type that has the field.
	Parent string
	Field  *ast.FieldDefinition
	// Node is the type of what is listed.
	Node string
}

// Key names the list, for example Instance.workloads.
func (l List) Key() string { return l.Parent + "." + l.Field.Name }

// Lists are all lists of the schema, by key. Those of interfaces are those of
// the types that implement them.
func Lists(s *ast.Schema) []List {
	var lists []List
	eachField(s, func(parent *ast.Definition, f *ast.FieldDefinition) {
		// The lists of a custom workload are those of any other kind; no test makes as many objects about one.
		if name := f.Type.Name(); strings.HasSuffix(name, "Connection") && parent.Name != "CustomWorkload" {
			nodes := s.Types[name].Fields.ForName("nodes")
			lists = append(lists, List{Parent: parent.Name, Field: f, Node: nodes.Type.Name()})
		}
	})
	slices.SortFunc(lists, func(a, b List) int { return strings.Compare(a.Key(), b.Key()) })
	return lists
}

// ObjectLists are the lists of objects, which have names; others are of what is counted in objects, and of what users
// did with objects. The lists of a member cluster that have a name of their own are left out: they are compared with its
// list of any kind.
func ObjectLists(s *ast.Schema) []List {
	return slices.DeleteFunc(Lists(s), func(l List) bool {
		return s.Types[l.Node].Fields.ForName("name") == nil || l.Node == "ActivityEntry" || l.OfMember()
	})
}

// OfMember reports whether the list has objects of certain kinds in a member cluster.
func (l List) OfMember() bool {
	return l.Parent == "MemberCluster" && (l.Node == "Resource" || l.Node == "Event") && l.Field.Name != "resources"
}

// Arguments are all arguments of all fields, with the fields of inputs written
// out, for example Query.workloads(filter.policy.name).
func Arguments(s *ast.Schema) []string {
	var found []string
	eachField(s, func(parent *ast.Definition, f *ast.FieldDefinition) {
		for _, a := range f.Arguments {
			for _, path := range leaves(s, a.Name, a.Type) {
				found = append(found, parent.Name+"."+f.Name+"("+path+")")
			}
		}
	})
	slices.Sort(found)
	return found
}

func leaves(s *ast.Schema, path string, of *ast.Type) []string {
	def := s.Types[of.Name()]
	if def.Kind != ast.InputObject {
		return []string{path}
	}
	var found []string
	for _, f := range def.Fields {
		found = append(found, leaves(s, path+"."+f.Name, f.Type)...)
	}
	return found
}

func eachField(s *ast.Schema, visit func(*ast.Definition, *ast.FieldDefinition)) {
	for _, def := range s.Types {
		if def.Kind != ast.Object || def.BuiltIn || strings.HasPrefix(def.Name, "__") {
			continue
		}
		for _, f := range def.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				visit(def, f)
			}
		}
	}
}

// Values are the values of an enum.
func Values(s *ast.Schema, enum string) []string {
	var values []string
	for _, v := range s.Types[enum].EnumValues {
		values = append(values, v.Name)
	}
	return values
}

// Selection selects every field of a type down to a depth, but for lists and
// fields that need arguments, or are left out by name. Fields of an interface's types are selected too.
func Selection(s *ast.Schema, typ string, depth int, without ...string) string {
	var b strings.Builder
	selection(&b, s, s.Types[typ], depth, without)
	return b.String()
}

func selection(b *strings.Builder, s *ast.Schema, def *ast.Definition, depth int, without []string) {
	b.WriteString("{ __typename")
	for _, f := range def.Fields {
		selectField(b, s, f, depth, without)
	}
	if def.IsAbstractType() {
		for _, possible := range s.GetPossibleTypes(def) {
			var own strings.Builder
			for _, f := range possible.Fields {
				if def.Fields.ForName(f.Name) == nil {
					selectField(&own, s, f, depth, without)
				}
			}
			if own.Len() > 0 {
				b.WriteString(" ... on " + possible.Name + " {" + own.String() + " }")
			}
		}
	}
	b.WriteString(" }")
}

func selectField(b *strings.Builder, s *ast.Schema, f *ast.FieldDefinition, depth int, without []string) {
	def := s.Types[f.Type.Name()]
	needsArguments := slices.ContainsFunc(f.Arguments, func(a *ast.ArgumentDefinition) bool {
		return a.Type.NonNull && a.DefaultValue == nil
	})
	switch {
	case strings.HasPrefix(f.Name, "__") || needsArguments || slices.Contains(without, f.Name) || strings.HasSuffix(def.Name, "Connection"):
	case def.IsLeafType():
		b.WriteString(" " + f.Name)
	case depth > 1:
		b.WriteString(" " + f.Name + " ")
		selection(b, s, def, depth-1, without)
	}
}
