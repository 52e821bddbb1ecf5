package main

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/generated"
)

// emptySchema is the schema without resolvers, for what comes before.
func emptySchema() graphql.ExecutableSchema {
	return generated.NewExecutableSchema(generated.Config{})
}
