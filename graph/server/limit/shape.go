package limit

import (
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/cost"
)

// Bounds of a document that cannot be configured: beyond them it is no request of
// a person or of a program that one wrote.
const (
	// maxComparisons is how many pairs of fields of one name may be selected in one
	// place. Validation compares each pair, whatever else limits a document.
	maxComparisons = 100_000
	// maxNameLen is the length of the longest name. Validation looks for names that
	// are alike, which costs the product of their lengths.
	maxNameLen = 200
)

// shape is the size of an operation with its fragments written out. It needs no
// schema, and nothing but that the document parses: fragments that are missing, and
// those that spread themselves, are left to validation.
type shape struct {
	depth      int
	fields     int
	aliases    int
	introspect bool
}

func (s shape) with(o shape) shape {
	return shape{
		depth:      max(s.depth, o.depth),
		fields:     cost.Sum(s.fields, o.fields),
		aliases:    cost.Sum(s.aliases, o.aliases),
		introspect: s.introspect || o.introspect,
	}
}

// measurer measures each fragment once: written out, n fragments that spread the
// next one twice have 2^n fields.
type measurer struct {
	doc       *ast.QueryDocument
	fragments map[string]shape
}

func newMeasurer(doc *ast.QueryDocument) measurer {
	return measurer{doc: doc, fragments: map[string]shape{}}
}

func (m measurer) selections(set ast.SelectionSet) shape {
	var sum shape
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			size := m.selections(sel.SelectionSet)
			size.depth++
			size.fields = cost.Sum(size.fields, 1)
			if sel.Alias != "" && sel.Alias != sel.Name {
				size.aliases = cost.Sum(size.aliases, 1)
			}
			size.introspect = size.introspect || sel.Name == "__schema" || sel.Name == "__type"
			sum = sum.with(size)
		case *ast.InlineFragment:
			sum = sum.with(m.selections(sel.SelectionSet))
		case *ast.FragmentSpread:
			sum = sum.with(m.fragment(sel.Name))
		}
	}
	return sum
}

func (m measurer) fragment(name string) shape {
	if size, ok := m.fragments[name]; ok {
		return size
	}
	m.fragments[name] = shape{} // For one that spreads itself.
	def := m.doc.Fragments.ForName(name)
	if def == nil {
		return shape{}
	}
	size := m.selections(def.SelectionSet)
	m.fragments[name] = size
	return size
}

// rootFields returns how many fields an operation has itself: those of one name, in
// whatever fragments, are one.
func (m measurer) rootFields(set ast.SelectionSet) int {
	names, spread := map[string]bool{}, map[string]bool{}
	var collect func(ast.SelectionSet)
	collect = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				names[sel.Alias] = true
			case *ast.InlineFragment:
				collect(sel.SelectionSet)
			case *ast.FragmentSpread:
				if def := m.doc.Fragments.ForName(sel.Name); def != nil && !spread[sel.Name] {
					spread[sel.Name] = true
					collect(def.SelectionSet)
				}
			}
		}
	}
	collect(set)
	return len(names)
}

// comparisons returns how many pairs of fields validation compares in some selections that
// are merged into one, and in all below; it stops counting beyond maxComparisons. A
// fragment that was spread already has nothing new to compare.
func (m measurer) comparisons(sets ...ast.SelectionSet) int {
	byName := map[string][]*ast.Field{}
	var order []string
	spread := map[string]bool{}
	var collect func(ast.SelectionSet)
	collect = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				name := sel.Alias
				if len(byName[name]) == 0 {
					order = append(order, name)
				}
				byName[name] = append(byName[name], sel)
			case *ast.InlineFragment:
				collect(sel.SelectionSet)
			case *ast.FragmentSpread:
				if def := m.doc.Fragments.ForName(sel.Name); def != nil && !spread[sel.Name] {
					spread[sel.Name] = true
					collect(def.SelectionSet)
				}
			}
		}
	}
	for _, set := range sets {
		collect(set)
	}
	sum := 0
	for _, name := range order {
		fields := byName[name]
		sum += len(fields) * (len(fields) - 1) / 2
		var below []ast.SelectionSet
		for _, f := range fields {
			if len(f.SelectionSet) > 0 {
				below = append(below, f.SelectionSet)
			}
		}
		if sum > maxComparisons {
			return sum
		}
		if len(below) > 0 {
			sum += m.comparisons(below...)
		}
	}
	return sum
}

// spreadsItself names a fragment that spreads itself, by way of others perhaps; ""
// where none does. What follows fragments must know before.
func (m measurer) spreadsItself() string {
	const visiting, done = 1, 2
	state := map[string]int{}
	var inSelections func(ast.SelectionSet) string
	inFragment := func(name string) string {
		switch state[name] {
		case visiting:
			return name
		case done:
			return ""
		}
		state[name] = visiting
		if def := m.doc.Fragments.ForName(name); def != nil {
			if found := inSelections(def.SelectionSet); found != "" {
				return found
			}
		}
		state[name] = done
		return ""
	}
	inSelections = func(set ast.SelectionSet) string {
		for _, sel := range set {
			found := ""
			switch sel := sel.(type) {
			case *ast.Field:
				found = inSelections(sel.SelectionSet)
			case *ast.InlineFragment:
				found = inSelections(sel.SelectionSet)
			case *ast.FragmentSpread:
				found = inFragment(sel.Name)
			}
			if found != "" {
				return found
			}
		}
		return ""
	}
	for _, f := range m.doc.Fragments {
		if found := inFragment(f.Name); found != "" {
			return found
		}
	}
	return ""
}

// longestName returns the length of the longest name in a document that validation looks
// up in the schema.
func longestName(doc *ast.QueryDocument) int {
	most := 0
	see := func(names ...string) {
		for _, name := range names {
			most = max(most, len(name))
		}
	}
	var value func(*ast.Value)
	value = func(v *ast.Value) {
		if v == nil {
			return
		}
		if v.Kind == ast.EnumValue {
			see(v.Raw)
		}
		for _, child := range v.Children {
			see(child.Name)
			value(child.Value)
		}
	}
	directives := func(list ast.DirectiveList) {
		for _, d := range list {
			see(d.Name)
			for _, arg := range d.Arguments {
				see(arg.Name)
				value(arg.Value)
			}
		}
	}
	var selections func(ast.SelectionSet)
	selections = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				see(sel.Name)
				for _, arg := range sel.Arguments {
					see(arg.Name)
					value(arg.Value)
				}
				directives(sel.Directives)
				selections(sel.SelectionSet)
			case *ast.InlineFragment:
				see(sel.TypeCondition)
				directives(sel.Directives)
				selections(sel.SelectionSet)
			case *ast.FragmentSpread:
				directives(sel.Directives)
			}
		}
	}
	for _, op := range doc.Operations {
		for _, v := range op.VariableDefinitions {
			see(v.Type.Name())
			value(v.DefaultValue)
			directives(v.Directives)
		}
		directives(op.Directives)
		selections(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		see(f.TypeCondition)
		directives(f.Directives)
		selections(f.SelectionSet)
	}
	return most
}
