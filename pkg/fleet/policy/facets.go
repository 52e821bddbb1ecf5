package policy

import "github.com/kairship-io/kairship/pkg/fleet/listing"

// FacetField is what policies can be counted by.
type FacetField string

// The fields.
const (
	FacetSelectedKind FacetField = "SELECTED_KIND"
	FacetNamespace    FacetField = "NAMESPACE"
)

// Facet is how many policies of a list have each value of a field.
type Facet = listing.Facet[FacetField]

// valuesOf are those that a policy counts under.
func valuesOf(p Any, field FacetField) []string {
	var values []string
	switch field {
	case FacetSelectedKind:
		for _, s := range selectorsOf(p) {
			values = append(values, s.Kind)
		}
	case FacetNamespace:
		if namespace := p.Common().Namespace(); namespace != "" {
			values = append(values, namespace)
		}
	}
	return values
}
