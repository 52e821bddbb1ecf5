package rpc

import (
	"maps"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// failure is the message Failure.
type failure struct {
	Message string         `json:"message"`
	Code    string         `json:"code,omitempty"`
	Path    ast.Path       `json:"path,omitempty"`
	More    map[string]any `json:"more,omitempty"`
}

func failuresOf(errs gqlerror.List) []failure {
	list := make([]failure, len(errs))
	for i, err := range errs {
		more := maps.Clone(err.Extensions)
		code, _ := more["code"].(string)
		delete(more, "code")
		list[i] = failure{Message: err.Message, Code: code, Path: err.Path, More: more}
	}
	return list
}
