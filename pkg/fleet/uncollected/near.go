package uncollected

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// mostNear is how many kinds a refusal suggests.
const mostNear = 3

// near are the kinds that are served and may be meant, the nearest first: the same
// resource in another group or version, the plural of the name of a kind, a resource that
// is spelt nearly so.
func near(d *instanceproxy.Discovery, of schema.GroupVersionResource) []string {
	type candidate struct {
		schema.GroupVersionResource

		distance int
	}
	var found []candidate
	for _, list := range d.Resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") ||
				slices.ContainsFunc(found, func(c candidate) bool { return c.Group == gv.Group && c.Resource == r.Name }) {
				continue
			}
			if distance, ok := distanceTo(r, of.Resource); ok {
				// The group that was named comes first among those that are as near.
				distance *= 2
				if gv.Group != of.Group {
					distance++
				}
				found = append(found, candidate{gv.WithResource(r.Name), distance})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range found[:min(len(found), mostNear)] {
		names = append(names, said(c.GroupVersionResource))
	}
	return names
}

// distanceTo is how far a kind is from a name; false for one that is not meant by it.
func distanceTo(r *metav1.APIResource, name string) (int, bool) {
	switch {
	case r.Name == name:
		return 0, true
	case strings.EqualFold(r.Kind, name), r.SingularName == name, slices.Contains(r.ShortNames, name):
		return 1, true
	}
	if d := edits(r.Name, name); d <= max(1, len(name)/4) {
		return 1 + d, true
	}
	return 0, false
}

// edits is the Levenshtein distance of two names.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
