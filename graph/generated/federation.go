package generated

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/model"
)

// This file is written by hand. Whatever the configuration, the generator has the two
// fields of federation resolved by methods that its plugin would write. The plugin has
// no room for what they need here; gqlgen.yml says why.

// FederationResolver resolves the fields that a supergraph asks a subgraph for. The
// root of the resolvers is one.
type FederationResolver interface {
	// Entities returns what representations name, in their order; nil where there is
	// nothing. What is wrong with one of them it adds to the response itself; the error
	// is about all of them.
	Entities(ctx context.Context, representations []any) ([]model.Entity, error)
	// Subgraph returns what the supergraph is composed of.
	Subgraph(ctx context.Context) (model.Subgraph, error)
}

var errNoFederation = errors.New("the root of the resolvers is no FederationResolver")

func (ec *executionContext) __resolve_entities(ctx context.Context, representations []any) []model.Entity {
	entities, err := []model.Entity(nil), errNoFederation
	if r, ok := ec.Resolvers.(FederationResolver); ok {
		entities, err = r.Entities(ctx, representations)
	}
	if err != nil {
		graphql.AddError(ctx, err)
		// Routers want as many as they asked for.
		return make([]model.Entity, len(representations))
	}
	return entities
}

func (ec *executionContext) __resolve__service(ctx context.Context) (model.Subgraph, error) {
	r, ok := ec.Resolvers.(FederationResolver)
	if !ok {
		return model.Subgraph{}, errNoFederation
	}
	return r.Subgraph(ctx)
}
