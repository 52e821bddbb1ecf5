package whatif

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Effect is what a change does to one object.
type Effect string

// The effects, the first being those that need most attention.
const (
	// Lost: no policy claims it any more. It stays where it is until another policy claims it.
	Lost Effect = "LOST"
	// HandedOver: another policy claims it instead.
	HandedOver Effect = "HANDED_OVER"
	// TakenOver: the policy takes it from another one.
	TakenOver Effect = "TAKEN_OVER"
	// Claimed: the policy, or another one, claims what no policy has claimed.
	Claimed Effect = "CLAIMED"
	// Evicted: Karmada evicts it from a lost cluster.
	Evicted Effect = "EVICTED"
	// Rescheduled: its policy stays, and its clusters or replicas change.
	Rescheduled Effect = "RESCHEDULED"
	// Unchanged: its policy, clusters and replicas stay.
	Unchanged Effect = "UNCHANGED"
)

// Placement is one cluster that an object goes to.
type Placement struct {
	Cluster string `json:"cluster"`
	// Replicas are zero for what has none.
	Replicas int32 `json:"replicas"`
}

// Item is what becomes of one object.
type Item struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Effect     Effect    `json:"effect"`
	// PolicyBefore and PolicyAfter claim it; nil for none.
	PolicyBefore *PolicyRef `json:"policyBefore"`
	PolicyAfter  *PolicyRef `json:"policyAfter"`
	// Before and After are its clusters, by name.
	Before []Placement `json:"before"`
	After  []Placement `json:"after"`
	// Unplaced reports whether the scheduler finds no clusters for all of it.
	Unplaced bool `json:"unplaced"`
	// Message explains it to a person; it may be empty.
	Message string `json:"-"`
}

// Moved reports whether the clusters or replicas change.
func (i *Item) Moved() bool { return !slices.Equal(i.Before, i.After) }

// RemovedFrom are the clusters that lose the object.
func (i *Item) RemovedFrom() []string {
	out := []string{}
	for _, p := range i.Before {
		if !slices.ContainsFunc(i.After, func(a Placement) bool { return a.Cluster == p.Cluster }) {
			out = append(out, p.Cluster)
		}
	}
	return out
}

// Report is what a change does.
type Report struct {
	// Items are all objects that the change concerns, those first that need attention.
	Items []Item
	// Assumptions are what the report takes for granted, sentences for a person.
	Assumptions []string
	// Fingerprint is the same for reports of the same change that do the same.
	Fingerprint string
}

// Counts are exact.
type Counts struct {
	Claimed, Lost, TakenOver, HandedOver, Evicted, Unchanged int
	// Moved is the number of objects whose clusters or replicas change.
	Moved int
	// Removed is the number of objects in member clusters that are removed there.
	Removed int
	// Unplaced is the number of objects for which the scheduler finds no clusters.
	Unplaced int
}

// Counts counts the items.
func (r *Report) Counts() Counts {
	var c Counts
	for i := range r.Items {
		item := &r.Items[i]
		switch item.Effect {
		case Claimed:
			c.Claimed++
		case Lost:
			c.Lost++
		case TakenOver:
			c.TakenOver++
		case HandedOver:
			c.HandedOver++
		case Evicted:
			c.Evicted++
		case Unchanged:
			c.Unchanged++
		case Rescheduled:
		}
		if item.Moved() {
			c.Moved++
		}
		if item.Unplaced {
			c.Unplaced++
		}
		c.Removed += len(item.RemovedFrom())
	}
	return c
}

// effects are in the order of a report.
var effects = []Effect{Lost, HandedOver, TakenOver, Claimed, Evicted, Rescheduled, Unchanged}

// hashBytes is how much of the hash belongs to a fingerprint.
const hashBytes = 16

// newReport sorts items and computes the fingerprint of a change, of which JSON is made.
func newReport(w *World, change any, items []Item, assumptions []string) (*Report, error) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(
			compareBool(b.Unplaced, a.Unplaced),
			cmp.Compare(slices.Index(effects, a.Effect), slices.Index(effects, b.Effect)),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.APIVersion, b.APIVersion),
		)
	})
	raw, err := json.Marshal([]any{change, items, assumptions})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return &Report{Items: items, Assumptions: assumptions, Fingerprint: withSettings(hex.EncodeToString(sum[:hashBytes]), w.Settings)}, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
