package resource

import (
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// Change is an event of a subscription to objects of any kind.
type Change = changes.Event[*Resource]

// ChangeFilter says which objects to follow.
type ChangeFilter struct {
	Instances     []string
	Namespaces    []string
	Name          []string
	NameContains  *string
	LabelSelector *string
}

// Fields are the fields of an object that can change.
func Fields() []changes.Field[*Resource] {
	return append(changes.ObjectFields(func(r *Resource) *object.Object { return &r.Object }),
		// One that was deleted and made again between two looks is another one.
		changes.Field[*Resource]{Name: "uid", Of: func(r *Resource) any { return r.UID() }},
		changes.Field[*Resource]{Name: "createdAt", Of: func(r *Resource) any { return r.CreatedAt() }},
		changes.Field[*Resource]{Name: "service", Of: changes.Value((*Resource).Service)},
		changes.Field[*Resource]{Name: "ingress", Of: changes.Value((*Resource).Ingress)},
		changes.Field[*Resource]{Name: "runs", Of: changes.Value((*Resource).Runs)},
		changes.Field[*Resource]{Name: "policy", Of: func(r *Resource) any { return workload.PolicyRefOf(&r.Indexed.Meta) }},
	)
}

// Listing is the part of the filter that all nouns have.
func (f *ChangeFilter) Listing() listing.Filter {
	if f == nil {
		return listing.Filter{}
	}
	return listing.Filter{Namespaces: f.Namespaces, Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

// Of are the instances of the filter; nil for all.
func (f *ChangeFilter) Of() []string {
	if f == nil {
		return nil
	}
	return f.Instances
}
