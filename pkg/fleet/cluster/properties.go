package cluster

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
)

// PropertyFilter is the part of a filter that clusters of the inventory and member clusters have in
// common. An empty text selects those without a value.
type PropertyFilter struct {
	Provider, Region, Zone []string
	// KubernetesVersion are beginnings of versions.
	KubernetesVersion []string
	Ready             *bool
}

// Properties are what a PropertyFilter selects by and what clusters are counted by.
type Properties struct {
	Provider, Region  string
	Zones             []string
	KubernetesVersion string
	Ready             bool
}

// Empty reports whether the filter selects all clusters.
func (f *PropertyFilter) Empty() bool {
	return f.Provider == nil && f.Region == nil && f.Zone == nil && f.KubernetesVersion == nil && f.Ready == nil
}

// Matches reports whether the filter selects a cluster with some properties.
func (f *PropertyFilter) Matches(p *Properties) bool {
	of := func(wanted []string, has ...string) bool {
		return wanted == nil || slices.ContainsFunc(has, func(v string) bool { return slices.Contains(wanted, v) })
	}
	zones := p.Zones
	if len(zones) == 0 {
		zones = []string{""}
	}
	return of(f.Provider, p.Provider) && of(f.Region, p.Region) && of(f.Zone, zones...) &&
		(f.KubernetesVersion == nil || OfVersion(p.KubernetesVersion, f.KubernetesVersion)) &&
		(f.Ready == nil || *f.Ready == p.Ready)
}

// OfVersion reports whether a version begins with one of some others, in whole numbers.
func OfVersion(version string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(v string) bool { return begins(version, v) })
}

// begins reports whether a version begins with another one, in whole numbers: v1.3 is no beginning of
// v1.36.
func begins(version, beginning string) bool {
	rest, found := strings.CutPrefix(strings.TrimPrefix(version, "v"), strings.TrimPrefix(beginning, "v"))
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	switch {
	case !found:
		return false
	case rest == "":
		return true
	case beginning == "":
		return false
	}
	return !digit(beginning[len(beginning)-1]) || !digit(rest[0])
}

// FacetField is what clusters can be counted by.
type FacetField string

// The fields.
const (
	FacetProvider          FacetField = "PROVIDER"
	FacetRegion            FacetField = "REGION"
	FacetZone              FacetField = "ZONE"
	FacetKubernetesVersion FacetField = "KUBERNETES_VERSION"
	FacetReady             FacetField = "READY"
)

// Facet is how many clusters of a list have each value of a field.
type Facet = listing.Facet[FacetField]

// Values are those that a cluster with the properties counts under.
func (p *Properties) Values(field FacetField) []string {
	one := func(v string) []string {
		if v == "" {
			return nil
		}
		return []string{v}
	}
	switch field {
	case FacetProvider:
		return one(p.Provider)
	case FacetRegion:
		return one(p.Region)
	case FacetZone:
		return p.Zones
	case FacetKubernetesVersion:
		return one(p.KubernetesVersion)
	case FacetReady:
		return []string{strconv.FormatBool(p.Ready)}
	}
	return nil
}

// properties are those of a cluster of the inventory.
func (c *Cluster) properties() *Properties {
	p := &Properties{
		Provider: c.Spec.Provider, Region: c.Spec.Region, KubernetesVersion: c.Status.KubernetesVersion,
		Ready: meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady),
	}
	if c.Spec.Zone != "" {
		p.Zones = []string{c.Spec.Zone}
	}
	return p
}
