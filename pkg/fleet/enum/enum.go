// Package enum binds string types of Karmada and Kubernetes to enums of GraphQL.
package enum

import (
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// Enum maps the values of a string type of Karmada or Kubernetes to those of a
// GraphQL enum.
//
// The generator could bind the values on its own, but would then write an empty
// value, which is how these types say "not given", as the empty string, which
// no enum has. Here it is null. So is a value that only a later Karmada knows:
// the object's manifest shows it.
type Enum[T ~string] struct {
	name   string
	values map[T]string
}

// New makes an Enum of the values with their names in GraphQL.
func New[T ~string](name string, values map[T]string) Enum[T] {
	return Enum[T]{name: name, values: values}
}

// Marshal writes a value.
func (e Enum[T]) Marshal(v T) graphql.Marshaler {
	name, known := e.values[v]
	if !known {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(name)) })
}

// Unmarshal reads a value.
func (e Enum[T]) Unmarshal(v any) (T, error) {
	if v == nil {
		return "", nil // As Marshal writes it. Where a value is needed the schema says so.
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("a %s is an enum value, not a %T", e.name, v)
	}
	for value, name := range e.values {
		if name == s {
			return value, nil
		}
	}
	return "", fmt.Errorf("%q is not a %s", s, e.name)
}
