package listing

import (
	"context"
	"errors"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Bounds of how many values of a facet are returned.
const (
	defaultFacetValues = 20
	maxFacetValues     = 100
)

// Facets are what a list is counted by, with at most so many values each.
type Facets struct {
	Fields []projection.FacetField
	Values int
}

// NewFacets makes Facets of the arguments of a field. Their number is bounded.
func NewFacets(fields []projection.FacetField, first *int) (Facets, error) {
	values := defaultFacetValues
	if first != nil {
		values = *first
	}
	if values < 1 || values > maxFacetValues {
		return Facets{}, apierror.Invalid("first", "%d is out of range; ask for 1 to %d", values, maxFacetValues)
	}
	return Facets{}.And(Facets{Fields: fields, Values: values}), nil
}

// And are the facets of both, each once.
func (f Facets) And(o Facets) Facets {
	all := slices.Clone(f.Fields)
	for _, field := range o.Fields {
		if !slices.Contains(all, field) {
			all = append(all, field)
		}
	}
	return Facets{Fields: all, Values: max(f.Values, o.Values)}
}

// Count adds facets to the connection of a list that was read with a request, whose filter they
// share.
func Count[T any](ctx context.Context, l *Lister, c *page.Connection[T], r Request, facets Facets) {
	if len(facets.Fields) == 0 {
		return
	}
	if r.Part != nil {
		r.Fields, r.Part = append(slices.Clone(r.Fields), *r.Part), nil
	}
	r.Args.After, r.WithCount = nil, false
	q, _, err := l.Parse(r)
	if err != nil {
		c.FacetsErr = err
		return
	}
	selects := index.Projected{}
	if q.Projected != nil {
		selects = *q.Projected
	}
	selects.Facets, selects.FacetValues = facets.Fields, facets.Values
	q.Projected = &selects
	found, err := l.Reader.List(ctx, q)
	if err != nil {
		c.FacetsErr = err
		return
	}
	c.Facets = found.Facets
	if c.Facets == nil { // There is nothing that the caller may see.
		for _, field := range facets.Fields {
			c.Facets = append(c.Facets, projection.Facet{Field: field})
		}
	}
	c.Freshness = c.Freshness.AsOf(found.AsOf, l.Now())
}

// errNoFacets is a bug: a list was read without counting the facets that were then requested.
var errNoFacets = errors.New("the facets were not counted")

// FacetsOf returns the facets of a list in the order of some fields. They were added by Count.
func FacetsOf[T any](c *page.Connection[T], fields []projection.FacetField, first *int) ([]projection.Facet, error) {
	wanted, err := NewFacets(fields, first)
	if err == nil {
		err = c.FacetsErr
	}
	if err != nil {
		return nil, err
	}
	out := make([]projection.Facet, len(fields))
	for i, field := range fields {
		at := slices.IndexFunc(c.Facets, func(f projection.Facet) bool { return f.Field == field })
		if at < 0 {
			return nil, errNoFacets
		}
		out[i] = c.Facets[at]
		out[i].Values = out[i].Values[:min(wanted.Values, len(out[i].Values))]
	}
	return out, nil
}
