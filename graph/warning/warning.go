// Package warning collects the warnings of an operation: what its author may not
// mean, and what is no error. They are sent in the answer's extensions.warnings.
package warning

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

// CodeUnknownNamespace is about a namespace of a filter that no instance of the list has.
const CodeUnknownNamespace = "UNKNOWN_NAMESPACE"

// CodeWithoutCustom is about a list of workloads that is made without custom ones, because the projection
// cannot be read now.
const CodeWithoutCustom = "WITHOUT_CUSTOM_WORKLOADS"

// Warning is one of the warnings of an operation.
type Warning struct {
	// Code says to programs which kind of warning it is.
	Code string `json:"code"`
	// Path is the place of the field in the answer.
	Path ast.Path `json:"path"`
	// Argument is the argument of the field that it is about.
	Argument string `json:"argument,omitempty"`
	Message  string `json:"message"`
}

type key struct{}

// collector holds the warnings of one operation, whose fields are resolved at the same time.
type collector struct {
	mu  sync.Mutex
	all []Warning
}

// With returns a context that collects the warnings of an operation.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, &collector{}) }

// Add adds a warning to the operation of the context.
func Add(ctx context.Context, w Warning) {
	c, ok := ctx.Value(key{}).(*collector)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, w)
}

// Of returns the warnings of the operation of the context by path and argument.
func Of(ctx context.Context) []Warning {
	c, ok := ctx.Value(key{}).(*collector)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.all)
	slices.SortFunc(all, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Path.String(), b.Path.String()), cmp.Compare(a.Argument, b.Argument))
	})
	return all
}
