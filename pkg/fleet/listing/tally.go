package listing

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Needs says what will be asked of a list besides its items.
type Needs struct {
	// Count: the number of items on all pages.
	Count bool
	// Facets: what the items on all pages are counted by.
	Facets Facets
}

// Facet is how many items of a list have each value of a field of a noun's own.
type Facet[F ~string] struct {
	Field  F
	Values []projection.FacetValue
	// TotalValues is how many values there are.
	TotalValues int
}

// Tally counts items by fields. An item counts once for each value that it has of a field.
func Tally[T any](items []T, facets Facets, values func(T, projection.FacetField) []string) []projection.Facet {
	all := make([]projection.Facet, len(facets.Fields))
	for i, field := range facets.Fields {
		counts := map[string]int{}
		for _, item := range items {
			of := slices.Clone(values(item, field))
			slices.Sort(of)
			for _, v := range slices.Compact(of) {
				counts[v]++
			}
		}
		f := projection.Facet{Field: field, TotalValues: len(counts)}
		for _, v := range slices.Sorted(maps.Keys(counts)) {
			f.Values = append(f.Values, projection.FacetValue{Value: v, Count: counts[v]})
		}
		slices.SortStableFunc(f.Values, func(a, b projection.FacetValue) int { return cmp.Compare(b.Count, a.Count) })
		f.Values = f.Values[:min(facets.Values, len(f.Values))]
		all[i] = f
	}
	return all
}

// SelectAll is the Select of a list that is read whole only to be counted by facets.
func SelectAll(context.Context, *index.Object) (bool, error) { return true, nil }

// CountSelected adds facets of all objects that a request with Select selected to its connection.
func CountSelected[T any](c *page.Connection[T], r *Result, facets Facets, decode func(*index.Object) (T, error), values func(T, projection.FacetField) []string) error {
	items := make([]T, len(r.Selected))
	for i, o := range r.Selected {
		var err error
		if items[i], err = decode(o); err != nil {
			return err
		}
	}
	c.Facets = Tally(items, facets, values)
	return nil
}

// FacetsBy returns the facets of a list in the order of some fields of a noun's own. They were counted
// with the list.
func FacetsBy[F ~string, T any](c *page.Connection[T], fields []F, first *int) ([]Facet[F], error) {
	asked := make([]projection.FacetField, len(fields))
	for i, field := range fields {
		asked[i] = projection.FacetField(field)
	}
	counted, err := FacetsOf(c, asked, first)
	if err != nil {
		return nil, err
	}
	facets := make([]Facet[F], len(counted))
	for i, f := range counted {
		facets[i] = Facet[F]{Field: F(f.Field), Values: f.Values, TotalValues: f.TotalValues}
	}
	return facets, nil
}
