package cost

import (
	"math"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Bill is what an operation costs.
type Bill struct {
	// Cost is Values + Requests × RequestCost.
	Cost int
	// Values is the number of values that the answer may have, weighed by their prices.
	Values int
	// Requests is how many requests upstream the operation may cause.
	Requests int
}

// Of makes the bill of an operation of a valid document.
func (t *Table) Of(op *ast.OperationDefinition, variables map[string]any) Bill {
	w := walk{table: t, variables: variables, fragments: map[spread]share{}}
	sum := w.selections(op.SelectionSet, 0)
	return Bill{
		Cost:     Sum(sum.values, times(sum.requests, RequestCost)),
		Values:   sum.values,
		Requests: sum.requests,
	}
}

// share is what a part of an operation costs, on one object.
type share struct{ values, requests int }

func (s share) plus(o share) share {
	return share{Sum(s.values, o.values), Sum(s.requests, o.requests)}
}

// spread is a fragment on a list with pages of some size.
type spread struct {
	name string
	page int
}

type walk struct {
	table     *Table
	variables map[string]any
	fragments map[spread]share
}

// selections is what a selection costs on one object; page is the size of the page
// where the object is a connection.
func (w walk) selections(set ast.SelectionSet, page int) share {
	var sum share
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			sum = sum.plus(w.field(sel, page))
		case *ast.InlineFragment:
			sum = sum.plus(w.selections(sel.SelectionSet, page))
		case *ast.FragmentSpread:
			key := spread{sel.Name, page}
			part, known := w.fragments[key]
			if !known {
				part = w.selections(sel.Definition.SelectionSet, page)
				w.fragments[key] = part
			}
			sum = sum.plus(part)
		}
	}
	return sum
}

func (w walk) field(f *ast.Field, page int) share {
	one := w.one(f, page)
	below := w.selections(f.SelectionSet, one.page)
	return share{
		values:   Sum(one.arguments, times(one.items, Sum(one.price.value(), below.values))),
		requests: Sum(one.price.Requests, below.requests),
	}
}

// one is a single field.
type one struct {
	price Price
	// items is how many objects, or values, it has on one object.
	items int
	// page is the size of its page, where it is a connection.
	page int
	// arguments is how many values its arguments have: each of them is read and compared.
	arguments int
}

func (w walk) one(f *ast.Field, page int) one {
	if f.Definition == nil || f.ObjectDefinition == nil || strings.HasPrefix(f.Name, "__") {
		return one{items: 1} // Introspection: its own rule bounds it.
	}
	o := one{price: w.table.prices[field{f.ObjectDefinition.Name, f.Name}]}
	var args map[string]any
	if len(f.Arguments) > 0 {
		args = f.ArgumentMap(w.variables)
		o.arguments = listed(args)
	}
	o.items = o.price.items(f, args)
	switch {
	case isConnection(f.Definition.Type):
		// The connection is one object; its nodes and edges are as many as its page has.
		o.page, o.items = o.items, 1
	case page > 0 && (f.Name == "nodes" || f.Name == "edges"):
		o.items = page
	}
	return o
}

// listed counts the items of all lists in a value.
func listed(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		n = len(v)
		for _, inner := range v {
			n = Sum(n, listed(inner))
		}
	case map[string]any:
		for _, inner := range v {
			n = Sum(n, listed(inner))
		}
	}
	return n
}

// Line is what one place of an operation costs.
type Line struct {
	// Field is where: the names of the fields on the way, without connections' own.
	Field string
	// Cost is what the field and its values without further selections cost, in all.
	Cost int
}

// MostExpensive returns the most expensive fields, in the order of their cost. It expands fragments, so
// the operation must have passed a limit of its size.
func (t *Table) MostExpensive(op *ast.OperationDefinition, variables map[string]any, most int) []Line {
	w := walk{table: t, variables: variables}
	costs := map[string]int{}
	w.lines(op.SelectionSet, 0, 1, nil, costs)
	lines := make([]Line, 0, len(costs))
	for name, cost := range costs {
		lines = append(lines, Line{name, cost})
	}
	slices.SortFunc(lines, func(a, b Line) int {
		if a.Cost != b.Cost {
			return b.Cost - a.Cost
		}
		return strings.Compare(a.Field, b.Field)
	})
	return lines[:min(most, len(lines))]
}

// lines adds up what is selected on so many objects. What has no selection of its
// own counts for the object that it is on.
func (w walk) lines(set ast.SelectionSet, page, objects int, path []string, costs map[string]int) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.InlineFragment:
			w.lines(sel.SelectionSet, page, objects, path, costs)
		case *ast.FragmentSpread:
			w.lines(sel.Definition.SelectionSet, page, objects, path, costs)
		case *ast.Field:
			one := w.one(sel, page)
			items := times(objects, one.items)
			cost := Sum(times(items, one.price.value()), Sum(times(one.arguments, objects), times(one.price.Requests, RequestCost)))
			at := path
			if len(sel.SelectionSet) > 0 && (page == 0 || sel.Name != "nodes" && sel.Name != "edges") || len(path) == 0 {
				at = append(slices.Clone(path), sel.Name)
			}
			name := strings.Join(at, ".")
			costs[name] = Sum(costs[name], cost)
			w.lines(sel.SelectionSet, one.page, items, at, costs)
		}
	}
}

// wholeNumber reads a number of a document or of variables.
func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(max(min(v, math.MaxInt32), math.MinInt32)), true
	}
	return 0, false
}

// Sum adds two sizes of an operation, and stays at the largest number where the
// result would pass it. Neither is negative.
func Sum(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func times(a, b int) int {
	if a != 0 && b > math.MaxInt/a {
		return math.MaxInt
	}
	return a * b
}
