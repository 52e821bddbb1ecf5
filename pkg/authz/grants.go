package authz

import (
	"context"
	"sync/atomic"
)

type grantsKey struct{}

// Grants are those that an operation begins with. It is safe for concurrent use; a nil
// one observes nothing.
type Grants struct {
	first   *Visibility
	changed atomic.Bool
}

// WithGrants returns a context in which every answer of a Resolver is compared with the
// grants that an operation begins with.
func WithGrants(ctx context.Context, first *Visibility) (context.Context, *Grants) {
	g := &Grants{first: first}
	return context.WithValue(ctx, grantsKey{}, g), g
}

func grantsFrom(ctx context.Context) *Grants {
	g, _ := ctx.Value(grantsKey{}).(*Grants)
	return g
}

// Changed reports whether an answer of a Resolver differed from the first grants, or was
// an error. What was read meanwhile may then belong to either.
func (g *Grants) Changed() bool { return g.changed.Load() }

func (g *Grants) observe(v *Visibility, err error) {
	if g == nil || err == nil && v.rules != nil && v.rules == g.first.rules {
		return
	}
	if err != nil || !g.first.Same(v) {
		g.changed.Store(true)
	}
}

// Same reports whether both permit the same; false where that is not known.
func (v *Visibility) Same(other *Visibility) bool {
	a, known := v.Key()
	b, alsoKnown := other.Key()
	return known && alsoKnown && a == b
}
