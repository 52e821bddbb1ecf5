package resolvers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// facetReader counts everything as one workload of x and one of y.
type facetReader struct {
	*reader
	counted []index.ListQuery
	err     error
}

func (r *facetReader) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	if q.Projected == nil || len(q.Projected.Facets) == 0 {
		return r.reader.List(ctx, q)
	}
	r.counted = append(r.counted, q)
	p := &index.Page{AsOf: now}
	for _, field := range q.Projected.Facets {
		p.Facets = append(p.Facets, projection.Facet{Field: field, Values: []projection.FacetValue{{Value: "x", Count: 1}, {Value: "y", Count: 1}}, TotalValues: 7})
	}
	return p, r.err
}

// TestFacets: however often a list is asked for facets, it is counted once, with its own
// filter; each field gets what it asked for, in its order.
func TestFacets(t *testing.T) {
	const x, y = `{"value":"x","count":1}`, `{"value":"y","count":1}`
	for _, tt := range []struct{ list, open, end string }{
		{`workloads(first: 1, filter: {namespaces: ["shop"], health: [DEGRADED]})`, `{"data":{"workloads":`, `}}`},
		{`instance(name: "alpha") { workloads(after: null, filter: {namespaces: ["shop"], health: [DEGRADED]})`, `{"data":{"instance":{"workloads":`, `}}}`},
	} {
		r := &facetReader{reader: &reader{}}
		query := "{ " + tt.list + ` {
			a: facets(fields: [HEALTH, KIND]) { field values { value count } }
			...more
			none: facets(fields: []) { field }
		} }` + strings.Repeat(" }", strings.Count(tt.list, " { ")) + ` fragment more on WorkloadConnection { b: facets(fields: [IMAGE, KIND, IMAGE], first: 1) { field values { value count } totalValues } }`
		resp := run(t, fleetOver(t, r, r.reader), nil, query, "")
		want := `{"a":[{"field":"HEALTH","values":[` + x + `,` + y + `]},{"field":"KIND","values":[` + x + `,` + y + `]}],` +
			`"b":[{"field":"IMAGE","values":[` + x + `],"totalValues":7},{"field":"KIND","values":[` + x + `],"totalValues":7},{"field":"IMAGE","values":[` + x + `],"totalValues":7}],"none":[]}`
		if got := `{"data":` + string(resp.Data) + `}`; len(resp.Errors) > 0 || got != tt.open+want+tt.end {
			t.Errorf("%s\n got %s %v\nwant %s", tt.list, got, resp.Errors, tt.open+want+tt.end)
		}
		if len(r.counted) != 1 {
			t.Fatalf("%s is counted %d times, want once", tt.list, len(r.counted))
		}
		q := r.counted[0]
		slices.Sort(q.Projected.Facets)
		if !slices.Equal(q.Projected.Facets, []projection.FacetField{projection.FacetHealth, projection.FacetImage, projection.FacetKind}) || q.Projected.FacetValues != 20 ||
			!slices.Equal(q.Namespaces, []string{"shop"}) || !slices.Equal(q.Projected.Health, []string{"DEGRADED"}) || q.After != nil {
			t.Errorf("%s is counted with %+v", tt.list, q)
		}
	}
}

// TestFacetsThatFail: that nothing can be counted now is said in its place, and the list
// stays; what was asked wrongly is refused as everywhere.
func TestFacetsThatFail(t *testing.T) {
	const list = `{"workloads":{"facets":[],"nodes":[]}}`
	for _, tt := range []struct {
		facets     string
		err        error
		data, want string
	}{
		{`facets(fields: [HEALTH], first: 0)`, nil, "null", "0 is out of range; ask for 1 to 100"},
		{`facets(fields: [HEALTH], first: 101)`, nil, "null", "101 is out of range"},
		{`facets(fields: [HEALTH])`, apierror.New(apierror.CodeIndexUnavailable, "they are being computed"), list, "being computed"},
	} {
		r := &facetReader{reader: &reader{}, err: tt.err}
		resp := run(t, fleetOver(t, r, r.reader), nil, `{ workloads { `+tt.facets+` { field } nodes { name } } }`, "")
		if string(resp.Data) != tt.data || len(resp.Errors) != 1 || !strings.Contains(resp.Errors[0].Message, tt.want) {
			t.Errorf("%s: got %s %v, want %s and %q", tt.facets, resp.Data, resp.Errors, tt.data, tt.want)
		}
	}
}
