package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// facet is how many items of a list have each value of a field.
type facet struct {
	Field       string       `json:"field"`
	Values      []facetValue `json:"values"`
	TotalValues int          `json:"totalValues"`
}

type facetValue struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// facetFields are those whose values the clusters themselves say, with the values that an
// item counts under.
var facetFields = map[string]func(item) []string{
	"HEALTH":    func(i item) []string { return []string{i.health} },
	"INSTANCE":  func(i item) []string { return []string{i.instance} },
	"KIND":      func(i item) []string { return []string{i.kind} },
	"NAMESPACE": func(i item) []string { return []string{i.GetNamespace()} },
	"CLUSTER":   func(i item) []string { return i.clusters },
	"LABEL": func(i item) []string {
		var all []string
		for key, value := range i.GetLabels() {
			all = append(all, key+"="+value)
		}
		return all
	},
}

const allFacets = `facets(fields: [HEALTH, INSTANCE, KIND, NAMESPACE, CLUSTER, LABEL], first: 100) { field values { value count } totalValues }`

// workloadFacetNames are the fields of facets of workloads, in the order in which they are asked for.
var workloadFacetNames = []string{"HEALTH", "INSTANCE", "KIND", "NAMESPACE", "CLUSTER", "LABEL", "IMAGE"}

// facetsOf counts values by field, in the order of some fields.
func facetsOf(fields []string, values map[string][]string) []facet {
	var all []facet
	for _, field := range fields {
		of, asked := values[field]
		if !asked {
			continue
		}
		counts := map[string]int{}
		for _, v := range of {
			counts[v]++
		}
		f := facet{Field: field, Values: []facetValue{}, TotalValues: len(counts)}
		for v, n := range counts {
			f.Values = append(f.Values, facetValue{v, n})
		}
		slices.SortFunc(f.Values, func(a, b facetValue) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Value, b.Value)) })
		f.Values = f.Values[:min(100, len(f.Values))]
		all = append(all, f)
	}
	return all
}

// TestFacetsCountWhatTheListHas: under every filter of every list of workloads, the facets
// count what the clusters say that is in the list, on whatever page.
func TestFacetsCountWhatTheListHas(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.Lists(theSchema) {
		if list.Node != "Workload" {
			continue
		}
		r := w.filterRoute(t, list)
		query := r.query(list, "{ "+allFacets+" nodes { __typename } pageInfo { hasNextPage } }")
		for _, c := range w.casesOf(list) {
			t.Run(fmt.Sprintf("%s/%s=%v", list.Key(), c.argument, w.short(fmt.Sprint(c.value))), func(t *testing.T) {
				variables := maps.Clone(c.more)
				if variables == nil {
					variables = map[string]any{}
				}
				set(variables, c.argument, c.value)
				variables["first"] = 1
				poll.Until(t, soon, "the facets count what the clusters say", func(ctx context.Context) error {
					all, err := w.items(ctx, t, list)
					if err != nil {
						return err
					}
					values := map[string][]string{}
					for field, of := range facetFields {
						values[field] = []string{}
						for _, i := range all {
							if c.match(i) {
								values[field] = append(values[field], of(i)...)
							}
						}
					}
					got, err := pageOf(ctx, on.kairship, query, append(slices.Clone(r.path), list.Field.Name), variables)
					if err != nil {
						return err
					}
					if diff := gocmp.Diff(facetsOf(workloadFacetNames, values), got.Facets); diff != "" {
						return fmt.Errorf("the clusters say -, Kairship says +:\n%s", diff)
					}
					return nil
				})
			})
		}
	}
}

// TestFacetsOfImages counts what the list itself shows.
func TestFacetsOfImages(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	const query = `query($ns: [String!]) { workloads(first: 500, filter: {namespaces: $ns}) { facets(fields: [IMAGE], first: 100) { field values { value count } totalValues } nodes { images } } }`
	poll.Until(t, soon, "the facets count the images", func(ctx context.Context) error {
		got, err := pageOf(ctx, on.kairship, query, []string{"workloads"}, map[string]any{"ns": w.suiteNamespaces()})
		if err != nil {
			return err
		}
		values := map[string][]string{}
		for _, raw := range got.Nodes {
			var node struct{ Images []string }
			if err := json.Unmarshal(raw, &node); err != nil {
				return err
			}
			values["IMAGE"] = append(values["IMAGE"], node.Images...)
		}
		if diff := gocmp.Diff(facetsOf(workloadFacetNames, values), got.Facets); diff != "" || len(values["IMAGE"]) == 0 {
			return fmt.Errorf("%d images, the list says -, its facets say +:\n%s", len(values["IMAGE"]), diff)
		}
		return nil
	})
}

// TestFacetsCostOneStatement: however many facets a list is asked for, one more request
// is sent than without.
func TestFacetsCostOneStatement(t *testing.T) {
	on := open(t)
	const query = `query($first: Int!) { workloads(first: $first) { %s nodes { name } } }`
	for _, first := range []int{1, 50} {
		variables := map[string]any{"first": first}
		without := coldCost(t, on.kairship, fmt.Sprintf(query, ""), variables)
		one := coldCost(t, on.kairship, fmt.Sprintf(query, `facets(fields: [HEALTH]) { field values { value count } }`), variables)
		many := coldCost(t, on.kairship, fmt.Sprintf(query, allFacets+` more: facets(fields: [IMAGE, HEALTH]) { totalValues }`), variables)
		if one != without+1 || many != without+1 {
			t.Errorf("a page of %d costs %d requests, with one facet %d and with many %d", first, without, one, many)
		}
	}
}
