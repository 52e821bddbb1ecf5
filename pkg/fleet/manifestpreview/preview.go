package manifestpreview

import (
	"slices"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/manifest"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/index"
)

// Service computes previews.
type Service struct {
	// Evidence reads what manifests depend on regardless of the caller's visibility: override policies, member
	// clusters, and the Works of objects that the caller may see.
	Evidence index.Reader
	Policies *policies.Writes
	// Resources reads what the caller may see.
	Resources *resource.Service
	// Freshness is how old the index is that the bindings are read from.
	Freshness *freshness.Tracker
	// Applies has the instance check manifests.
	Applies *resources.Service
}

// Preview is what a change would make of the manifests in member clusters.
type Preview struct {
	Instance    string
	Fingerprint string
	Assumptions []string
	Freshness   freshness.Freshness
	// Objects is how many templates were compared, NotPropagated how many Karmada propagates nowhere now,
	// and NotCompared how many were left out, which the assumptions explain.
	Objects, NotPropagated, NotCompared int
	// Manifests is how many were compared: one for each template and member cluster.
	Manifests, Failed, Changed, Created, Unchanged int

	all []manifest.Comparison
}

// Item is a manifest of the preview.
type Item struct{ *manifest.Comparison }

// NamespaceOrNil is the object's namespace; nil for one that has none.
func (i Item) NamespaceOrNil() *string { return object.Optional(i.Namespace) }

// MessageOrNil says why a manifest can't be made; nil when it can.
func (i Item) MessageOrNil() *string { return object.Optional(i.Message) }

// Change is a field that changes.
type Change = diff.Change

// Items returns the first manifests with one of some effects, nil for all: those first that need attention.
func (p *Preview) Items(first *int, effects []manifest.Effect) ([]Item, error) {
	limit, err := page.Args{First: first}.Limit()
	if err != nil {
		return nil, err
	}
	out := []Item{}
	for i := range p.all {
		if len(out) < limit && (effects == nil || slices.Contains(effects, p.all[i].Effect)) {
			out = append(out, Item{&p.all[i]})
		}
	}
	return out, nil
}

// finish counts what was compared.
func (p *Preview) finish(all []manifest.Comparison) {
	manifest.Sort(all)
	p.all, p.Manifests, p.Fingerprint = all, len(all), manifest.Fingerprint(all)
	for i := range all {
		switch all[i].Effect {
		case manifest.EffectFailed:
			p.Failed++
		case manifest.EffectChanged:
			p.Changed++
		case manifest.EffectCreated:
			p.Created++
		case manifest.EffectUnchanged:
			p.Unchanged++
		}
	}
	if p.Assumptions == nil {
		p.Assumptions = []string{}
	}
}
