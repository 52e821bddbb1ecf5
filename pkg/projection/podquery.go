package projection

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/labels"
)

// PodQuery selects pods of member clusters. An empty list of values does not narrow, except that a
// PodQuery without Instances and Scopes selects nothing.
type PodQuery struct {
	// Instances are those of whose member clusters all pods are selected. Of Scopes, the pods in their
	// namespaces are selected, in the member clusters that a workload of the same namespace of the
	// instance was sent to.
	Instances []string
	Scopes    []Scope

	// Clusters are member clusters by name, Nodes the names of nodes.
	Clusters, Namespaces, Names, Nodes []string
	// Phases are values of the GraphQL enum PodPhase.
	Phases []string
	// NameContains is a part of the name.
	NameContains string
	// Ready selects pods by whether all their containers are ready; nil for any.
	Ready *bool
	// Selector selects by labels; nil selects everything.
	Selector labels.Selector
	// Images are keys of images; a pod has one of them.
	Images []string
	// Words have to be in the text that is searched in, each somewhere.
	Words []string
	// Confined reports whether there are instances which the caller must not learn of, not even by
	// the time that an answer takes. Scopes say so too.
	Confined bool

	Order PodOrder
	// After is the place after which the page begins; nil for the first page.
	After *PodPosition
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of pods on all pages.
	WithCount bool
}

// PodOrderField is a column that lists of pods are ordered by first.
type PodOrderField int

// The fields. The rest of the key follows each of them, so that an order is total.
const (
	// PodsByNamespace orders by namespace, name, instance, cluster.
	PodsByNamespace PodOrderField = iota
	PodsByName
	PodsByCreation
	// PodsByRestarts orders by the restarts of all containers.
	PodsByRestarts
)

// PodOrder is the order of a list of pods.
type PodOrder struct {
	Field PodOrderField
	Desc  bool
}

// PodKey names a pod: Cluster is the name of the member cluster in the instance.
type PodKey struct {
	Instance  string `json:"instance"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// PodPosition is the place of a pod in an ordered list.
type PodPosition struct {
	PodKey

	// CreatedAt is in seconds since 1970.
	CreatedAt int64
	Restarts  int32
}

// PodItem is a pod as the projection has it.
type PodItem struct {
	PodPosition

	UID, ResourceVersion string
	// Phase is a value of the GraphQL enum PodPhase.
	Phase string
	Ready bool
	// NodeName and PodIP are empty while the pod has none.
	NodeName, PodIP string
	// Message is why the pod is not as it should be; empty when it is.
	Message string
	Labels  map[string]string
	// Images are those of the containers, init containers last, each once.
	Images []string
}

// PodSelection is a page of the pods that a PodQuery selects.
type PodSelection struct {
	Moment

	Items []PodItem
	// HasNext reports that more follow.
	HasNext bool
	// Count is the number of pods on all pages; nil if it was not asked for.
	Count *int64
}

// PodFacetField is what pods can be counted by. The values are those of the GraphQL enum
// PodFacetField.
type PodFacetField string

// The fields. A pod counts once for each of its labels and images.
const (
	PodFacetPhase     PodFacetField = "PHASE"
	PodFacetReady     PodFacetField = "READY"
	PodFacetInstance  PodFacetField = "INSTANCE"
	PodFacetCluster   PodFacetField = "CLUSTER"
	PodFacetNamespace PodFacetField = "NAMESPACE"
	PodFacetNode      PodFacetField = "NODE"
	PodFacetLabel     PodFacetField = "LABEL"
	PodFacetImage     PodFacetField = "IMAGE"
)

// PodFacet is how many pods have each value of a field.
type PodFacet struct {
	Field PodFacetField
	// Values are those with the most pods, then by value.
	Values []FacetValue
	// TotalValues is how many values there are.
	TotalValues int
}

// CountedPods are the facets of all pods that a PodQuery selects, at one moment.
type CountedPods struct {
	Moment

	Facets []PodFacet
}

var errNotBuilt = errors.New("not built yet")

// SelectPods reads a page of pods, with one statement and so of one moment.
func (db *DB) SelectPods(_ context.Context, _ *PodQuery) (*PodSelection, error) {
	return nil, errNotBuilt
}

// PodFacets counts the pods of a query by fields, with at most so many values of each.
func (db *DB) PodFacets(_ context.Context, _ *PodQuery, _ []PodFacetField, _ int) (*CountedPods, error) {
	return nil, errNotBuilt
}
