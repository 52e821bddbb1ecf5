package workload

import (
	"context"
	"errors"
	"slices"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Bounds of how many values of a facet are returned.
const (
	defaultFacetValues = 20
	maxFacetValues     = 100
)

// Facets are what a list of workloads is counted by, with at most so many values each.
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

// counted adds the facets that are needed to a list, whose filter they share.
func (s *Service) counted(ctx context.Context, c *Connection, r listing.Request, needs Needs) *Connection {
	if len(needs.Facets.Fields) == 0 {
		return c
	}
	if r.Part != nil {
		r.Fields, r.Part = append(slices.Clone(r.Fields), *r.Part), nil
	}
	r.Args.After, r.WithCount = nil, false
	q, _, err := s.lister.Parse(r)
	if err != nil {
		c.FacetsErr = err
		return c
	}
	selects := index.Projected{}
	if q.Projected != nil {
		selects = *q.Projected
	}
	selects.Facets, selects.FacetValues = needs.Facets.Fields, needs.Facets.Values
	q.Projected = &selects
	page, err := s.lister.Reader.List(ctx, q)
	if err != nil {
		c.FacetsErr = err
		return c
	}
	c.Facets = page.Facets
	if c.Facets == nil { // There is nothing that the caller may see.
		for _, field := range needs.Facets.Fields {
			c.Facets = append(c.Facets, projection.Facet{Field: field})
		}
	}
	c.Freshness = c.Freshness.AsOf(page.AsOf, s.lister.Now())
	return c
}

// errNoFacets is a bug: a list was read without counting the facets that were then requested.
var errNoFacets = errors.New("the facets were not counted")

// FacetsOf returns the facets of a list in the order of some fields. They were counted
// with the list; see Needs.
func FacetsOf(c *Connection, fields []projection.FacetField, first *int) ([]projection.Facet, error) {
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
