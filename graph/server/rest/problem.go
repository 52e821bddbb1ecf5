package rest

import (
	"context"
	"maps"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// problemType is the media type of problems.
const problemType = "application/problem+json"

// problem is an error as RFC 9457 has it. Its type is always about:blank, and so not written.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	failure
	// Others are the other errors of the same request.
	Others []failure `json:"others,omitempty"`
}

// failure is one error.
type failure struct {
	Detail string `json:"detail"`
	// Path is where in the answer of the operation it happened, as GraphQL writes it.
	Path ast.Path `json:"path,omitempty"`
	// Code is what programs switch on. More has what else the errors of GraphQL have, such as the argument.
	Code string         `json:"code,omitempty"`
	More map[string]any `json:"more,omitempty"`
}

func failureOf(err *gqlerror.Error) failure {
	more := maps.Clone(err.Extensions)
	code, _ := more["code"].(string)
	delete(more, "code")
	return failure{Detail: err.Message, Path: err.Path, Code: code, More: more}
}

func failuresOf(errs gqlerror.List) []failure {
	list := make([]failure, len(errs))
	for i, err := range errs {
		list[i] = failureOf(err)
	}
	return list
}

// Fail answers a request with an error.
func Fail(ctx context.Context, w http.ResponseWriter, present graphql.ErrorPresenterFunc, status int, err error) {
	response.SetRetryAfter(w, err)
	writeProblem(w, status, gqlerror.List{present(ctx, err)})
}

// writeProblem answers a request with at least one error.
func writeProblem(w http.ResponseWriter, status int, errs gqlerror.List) {
	failures := failuresOf(errs)
	b := response.Buffer()
	defer response.Release(b)
	response.AppendValue(b, problem{Title: http.StatusText(status), Status: status, failure: failures[0], Others: failures[1:]})
	response.Write(w, problemType, status, b.Bytes())
}

// statusOf is the status of an answer without data.
func statusOf(errs gqlerror.List) int {
	code, _ := errs[0].Extensions["code"].(string)
	return apierror.Code(code).HTTPStatus()
}
