package projection

import "slices"

// State is the state of a workload, and the version of its template that it was computed for.
type State struct {
	WorkloadKey

	UID             string      `json:"uid"`
	ResourceVersion string      `json:"resource_version"`
	Health          string      `json:"health"`
	Message         string      `json:"message"`
	Suspended       bool        `json:"suspended"`
	Desired         int32       `json:"desired"`
	Updated         int32       `json:"updated"`
	Ready           int32       `json:"ready"`
	Available       int32       `json:"available"`
	Placements      []Placement `json:"placements"`
	BindingID       string      `json:"binding_id"`
}

// stateColumns and stateDocColumns are the columns of a State, versionColumns and labelColumns those of an Identity;
// all but stateDocColumns are in the table workload.
var (
	versionColumns  = []column{{"uid", text}, {"resource_version", text}}
	labelColumns    = []column{{"label_kv", list}}
	stateColumns    = slices.Concat(versionColumns, []column{{"health", text}})
	stateDocColumns = []column{
		{"message", text}, {"suspended", boolean}, {"desired", integer}, {"updated", integer}, {"ready", integer}, {"available", integer}, {"placements", document},
		{"binding_id", text},
	}
)
