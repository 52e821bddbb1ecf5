package access

import (
	"context"
	"sync"
)

// operation remembers which instance each cluster belongs to, for as long as one
// operation lasts: hundreds of objects of a few clusters are read in it. What the
// user may do is asked every time.
type operation struct {
	instances sync.Map
}

type operationKey struct{}

// With gives the context of an operation, which is over within seconds, its memory.
// What lasts longer must not have one: a cluster may be joined to another instance.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{})
}

// instanceOf is the instance that a cluster belongs to.
func (r *Reader) instanceOf(ctx context.Context, cluster string) string {
	op, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		return r.inventory.InstanceOf(ctx, cluster)
	}
	if known, ok := op.instances.Load(cluster); ok {
		return known.(string)
	}
	instance := r.inventory.InstanceOf(ctx, cluster)
	op.instances.Store(cluster, instance)
	return instance
}
