// Package model holds the Go types of the schema that no domain package has.
// There should be none but the empty roots that the generator makes, and what is of
// GraphQL alone.
package model
