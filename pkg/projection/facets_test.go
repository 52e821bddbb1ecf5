package projection_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

var everyFacet = []projection.FacetField{
	projection.FacetLabel, projection.FacetHealth, projection.FacetInstance, projection.FacetKind,
	projection.FacetNamespace, projection.FacetCluster, projection.FacetImage,
}

// valuesOf are the values that a workload counts under.
func valuesOf(w *projection.Workload, field projection.FacetField) []string {
	switch field {
	case projection.FacetHealth:
		return []string{w.Health}
	case projection.FacetInstance:
		return []string{w.Instance}
	case projection.FacetKind:
		return []string{w.Kind}
	case projection.FacetNamespace:
		return []string{w.Namespace}
	case projection.FacetCluster:
		return w.Scheduled
	case projection.FacetLabel:
		return w.LabelKV
	default:
		return w.Images
	}
}

// counted are the facets of some workloads, with at most so many values each.
func counted(all []projection.Workload, match func(*projection.Workload) bool, fields []projection.FacetField, most int) []projection.Facet {
	facets := make([]projection.Facet, len(fields))
	for i, field := range fields {
		facets[i].Field = field
		counts := map[string]int{}
		for j := range all {
			if match(&all[j]) {
				for _, v := range valuesOf(&all[j], field) {
					counts[v]++
				}
			}
		}
		for v, n := range counts {
			facets[i].Values = append(facets[i].Values, projection.FacetValue{Value: v, Count: n})
		}
		slices.SortFunc(facets[i].Values, func(a, b projection.FacetValue) int {
			return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value))
		})
		facets[i].TotalValues = len(counts)
		facets[i].Values = facets[i].Values[:min(most, len(counts))]
	}
	return facets
}

func TestFacets(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		for i := range all {
			all[i].Images = [][]string{{}, {"a:1"}, {"a:1", "Übung:2"}, {"b:3"}}[i%4]
		}
		db := filled(t, index, all)
		for name, tt := range map[string]struct {
			query projection.Query
			match func(*projection.Workload) bool
		}{
			"everything": {projection.Query{Instances: everywhere}, func(*projection.Workload) bool { return true }},
			"nothing":    {projection.Query{}, func(*projection.Workload) bool { return false }},
			"a scope": {
				projection.Query{Scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}}},
				func(w *projection.Workload) bool { return w.Instance == "alpha" && w.Namespace == "shop" },
			},
			"degraded": {
				projection.Query{Instances: everywhere, Health: []string{"DEGRADED"}, Limit: 1, After: &projection.Position{}},
				func(w *projection.Workload) bool { return w.Health == "DEGRADED" },
			},
		} {
			for _, most := range []int{1, 3, 100} {
				got, err := db.Facets(t.Context(), &tt.query, everyFacet, most)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(counted(all, tt.match, everyFacet, most), got.Facets); diff != "" {
					t.Errorf("%s, %d values (-want +got):\n%s", name, most, diff)
				}
			}
		}
		if got, err := db.Facets(t.Context(), &projection.Query{Instances: everywhere}, []projection.FacetField{"NAME"}, 1); err == nil {
			t.Errorf("an unknown field: got %+v, want an error", got)
		}
	})
}

// TestFacetsOfTooLittle: what may lack rows is not counted.
func TestFacetsOfTooLittle(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		install(t, db)
		if got, err := db.Facets(t.Context(), &projection.Query{Instances: everywhere}, everyFacet, 1); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("got %+v, %v; want %v", got, err, projection.ErrIncomplete)
		}
	})
}
