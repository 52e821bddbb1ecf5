package projection

import (
	"encoding/json"
	"slices"
	"strings"
)

// Version is that of what the projector computes: it changes with the meaning of a
// column, and all rows are then projected again. A row of a later version answers queries of an
// earlier one.
const Version = 7

// earliest is the earliest version whose rows answer queries, except those that since lists. Rows of
// a version before it are not read, so that a release raises it when the meaning of a column changes.
const earliest = 3

// since returns the version that rows need to have to answer the query.
func (q *Query) since() int {
	switch {
	case q.Drifted != nil:
		return 6 // It added the column drifted.
	case q.Custom || slices.ContainsFunc(q.Kinds, isCustom):
		return sinceCustom
	case q.Order.Field == ByReady:
		return 4 // It added the column ready to the table workload.
	}
	return earliest
}

// sinceCustom is the version that has custom workloads. A list of all kinds has those that are there
// already while an earlier version is computed again.
const sinceCustom = 5

// isCustom reports whether a kind is one of custom workloads.
func isCustom(kind string) bool { return strings.Contains(kind, ".") }

// WorkloadKey names a workload.
type WorkloadKey struct {
	Instance  string `json:"instance"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is a workload.Kind, such as DEPLOYMENT, or Rollout.argoproj.io of a custom workload.
	Kind string `json:"kind"`
}

// Workload is the row of a workload. Each part is stored in a table of its own.
type Workload struct {
	WorkloadKey
	WorkloadState
	WorkloadDoc
	WorkloadSearch
	WorkloadObject
}

// WorkloadState is what lists are filtered, ordered and counted by.
type WorkloadState struct {
	Health          string `json:"health"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resource_version"`
	// CreatedAt is in seconds since 1970.
	CreatedAt int64 `json:"created_at"`
	// LabelKV are the labels as key=value, for selectors.
	LabelKV []string `json:"label_kv"`
	// Clusters are those of all placements, Scheduled those that the workload is scheduled to.
	Clusters  []string `json:"clusters"`
	Scheduled []string `json:"scheduled"`
	// PolicyNamespace is empty for a ClusterPropagationPolicy, PolicyName for no policy.
	PolicyNamespace string `json:"policy_namespace"`
	PolicyName      string `json:"policy_name"`
	// WorkName is the name of the Works that carry the workload.
	WorkName string `json:"work_name"`
	// Drifted reports whether the object of a placement differs from what Karmada sent; see workload.Drifted.
	Drifted bool `json:"drifted"`
	// Projection is the Version that the row was computed by.
	Projection int `json:"projection"`
}

// WorkloadDoc is what a page shows.
type WorkloadDoc struct {
	Labels  map[string]string `json:"labels"`
	Images  []string          `json:"images"`
	Desired int32             `json:"desired"`
	Updated int32             `json:"updated"`
	// Ready is in the table workload too, for the order.
	Ready      int32       `json:"ready"`
	Available  int32       `json:"available"`
	Message    string      `json:"message"`
	Suspended  bool        `json:"suspended"`
	Deleting   bool        `json:"deleting"`
	Placements []Placement `json:"placements"`
	// BindingID is Karmada's ID of the binding; empty for none.
	BindingID string `json:"binding_id"`
}

// WorkloadSearch is what lists are searched in.
type WorkloadSearch struct {
	// Search is the text that words are searched in; see workload.SearchText.
	Search string `json:"search"`
	// ImageKeys are what the images can be found by; see workload.ImageKeys.
	ImageKeys []string `json:"image_keys"`
}

// WorkloadObject is what is shown of the template.
type WorkloadObject struct {
	// Object is the template, as workload.Object reads it; of a custom workload with its resource, where
	// the index has it.
	Object json.RawMessage `json:"object"`
}

// Placement is the state of a workload in one member cluster.
type Placement struct {
	Cluster   string `json:"cluster"`
	Scheduled bool   `json:"scheduled"`
	Evicting  bool   `json:"evicting,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	Applied   bool   `json:"applied,omitempty"`
	Stale     bool   `json:"stale,omitempty"`
	Desired   *int32 `json:"desired,omitempty"`
	Ready     *int32 `json:"ready,omitempty"`
	Available *int32 `json:"available,omitempty"`
	Updated   *int32 `json:"updated,omitempty"`
	Health    string `json:"health"`
	Message   string `json:"message,omitempty"`
}

// MemberKey names a member cluster of an instance.
type MemberKey struct {
	Instance string `json:"instance"`
	Name     string `json:"name"`
}

// Member is so much of Karmada's Cluster object as the states of workloads are computed
// from. The object itself is large and changes every few seconds.
type Member struct {
	MemberKey

	Labels     map[string]string `json:"labels"`
	Spec       MemberSpec        `json:"spec"`
	Conditions []MemberCondition `json:"conditions"`
}

// MemberSpec has the fields that an affinity may name.
type MemberSpec struct {
	Provider string   `json:"provider,omitempty"`
	Region   string   `json:"region,omitempty"`
	Zones    []string `json:"zones,omitempty"`
}

// MemberCondition is a condition without its times.
type MemberCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Collection is what Kairship's inventory knows of a cluster that the index collects from.
type Collection struct {
	Cluster string `json:"cluster"`
	// Instance is the one that the cluster is joined to; empty for none.
	Instance string `json:"instance"`
	// Stale reports that the index does not follow the cluster any more.
	Stale bool `json:"stale"`
}

// Change names an object that has changed.
type Change struct {
	ID       int64  `json:"-"`
	Cluster  string `json:"cluster"`
	Group    string `json:"grp"`
	Resource string `json:"resource"`
	// Namespace is empty for objects without one.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// WorkloadGroup is the group of a Change that names a row of the projection which is to
// be computed again; its resource is the kind of the workload.
const WorkloadGroup = "projection"

// ObjectGroup is the group of a Change that names an object of an instance which only the history follows
// now; its resource is that of the object.
const ObjectGroup = "history"

// The lanes of the outbox, in the order in which they are taken: what the collector
// wrote, rows that follow from the change of an object that many depend on, and rows of
// a rebuild.
const (
	laneCollected = iota
	laneConsequence
	laneRebuild
)
