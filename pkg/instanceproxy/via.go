package instanceproxy

import "context"

// The ways on which requests come to an instance, as metrics tell them apart.
const (
	// ViaPassthrough is the native API.
	ViaPassthrough = "passthrough"
	// ViaMutation is a mutation of the GraphQL API.
	ViaMutation = "mutation"
	// viaOther is everything else: shared watches, reads of what was just written, and of
	// kinds that the index does not collect.
	viaOther = "other"
)

type viaKey struct{}

// Via returns a context whose requests are counted as having come on a way.
func Via(ctx context.Context, way string) context.Context {
	return context.WithValue(ctx, viaKey{}, way)
}

func viaOf(ctx context.Context) string {
	if way, ok := ctx.Value(viaKey{}).(string); ok {
		return way
	}
	return viaOther
}
