// Package v1 has the named operations of version 1 of the API, one in each .graphql file, and what is generated of them:
// the OpenAPI document of the REST API, and the list of the documents for clients of GraphQL.
//
// It is for importers.
package v1

import "embed"

// Operations has the files, in a folder for each noun.
//
//go:embed */*.graphql
var Operations embed.FS

// OpenAPI is the OpenAPI 3.1 document of the REST API.
//
//go:embed openapi.json
var OpenAPI []byte

//go:generate go run github.com/kairship-io/kairship/hack/openapi
//go:generate go run github.com/kairship-io/kairship/hack/protobuf
