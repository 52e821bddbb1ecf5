// Package testschema is a small schema for the tests of graph/server: every way
// in which a field can fail, and nothing of Kairship.
package testschema

//go:generate go tool gqlgen generate
