package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/params"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// read makes the parameters of an operation of its request.
func read(w http.ResponseWriter, r *http.Request, m *Match, schema *ast.Schema, maxBytes int64) (*graphql.RawParams, *params.Refusal) {
	variables := map[string]any{}
	var refused *params.Refusal
	switch {
	case m.Operation.HasBody() && r.URL.RawQuery != "":
		refused = params.Refuse(http.StatusBadRequest, "", "the parameters of a %s are the members of its body, and not of the query string", m.Operation.Method)
	case m.Operation.HasBody():
		refused = fromBody(w, r, m.Operation, variables, maxBytes)
	default:
		refused = fromQuery(r, m.Operation, schema, variables, maxBytes)
	}
	if refused != nil {
		return nil, refused
	}
	for name, text := range m.Path {
		value, ok := coerce(text, m.Operation.Definition.VariableDefinitions.ForName(name).Type, schema)
		if !ok {
			return nil, params.Refuse(http.StatusBadRequest, name, "%q in the path is no %s", text, m.Operation.Definition.VariableDefinitions.ForName(name).Type)
		}
		variables[name] = value
	}
	if tag := r.Header.Get("If-Match"); tag != "" {
		if refused := ifMatch(tag, m.Operation, variables); refused != nil {
			return nil, refused
		}
	}
	return &graphql.RawParams{Query: m.Operation.Document, OperationName: m.Operation.Name, Variables: variables, Headers: r.Header}, nil
}

// fromBody reads the members of a body. An operation all of whose variables are optional or in the path needs none.
func fromBody(w http.ResponseWriter, r *http.Request, op *operation.Operation, into map[string]any, maxBytes int64) *params.Refusal {
	if r.ContentLength == 0 {
		return nil
	}
	fields, refused := params.ReadBody(w, r, maxBytes)
	if refused != nil {
		return refused
	}
	for name, raw := range fields {
		if refused := known(op, name); refused != nil {
			return refused
		}
		var value any
		if !params.Decode(raw, &value) {
			return params.Refuse(http.StatusBadRequest, name, "is not JSON")
		}
		into[name] = value
	}
	return nil
}

// fromQuery reads the parameters of a query string. A list has a parameter for each of its values, and a value that has
// members is JSON.
func fromQuery(r *http.Request, op *operation.Operation, schema *ast.Schema, into map[string]any, maxBytes int64) *params.Refusal {
	if int64(len(r.URL.RawQuery)) > maxBytes {
		return params.Refuse(http.StatusRequestURITooLong, "", "the query string is longer than %d bytes", maxBytes)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return params.Refuse(http.StatusBadRequest, "", "the query string is malformed")
	}
	for name, texts := range values {
		if refused := known(op, name); refused != nil {
			return refused
		}
		of := op.Definition.VariableDefinitions.ForName(name).Type
		if of.Elem == nil && len(texts) > 1 {
			return params.Refuse(http.StatusBadRequest, name, "is in the query string twice, and has one value")
		}
		list := make([]any, len(texts))
		for i, text := range texts {
			element := of
			if of.Elem != nil {
				element = of.Elem
			}
			value, ok := coerce(text, element, schema)
			if !ok {
				return params.Refuse(http.StatusBadRequest, name, "%q is no %s", text, element)
			}
			list[i] = value
		}
		if into[name] = list[0]; of.Elem != nil {
			into[name] = list
		}
	}
	return nil
}

// known refuses a parameter that the operation has not, or that is in its path.
func known(op *operation.Operation, name string) *params.Refusal {
	if op.Definition.VariableDefinitions.ForName(name) != nil && !op.InPath(name) {
		return nil
	}
	var names []string
	for _, v := range op.Definition.VariableDefinitions {
		if !op.InPath(v.Variable) {
			names = append(names, v.Variable)
		}
	}
	refused := params.Refuse(http.StatusBadRequest, name, "is no parameter of %s; it has none", op.Name)
	if len(names) > 0 {
		refused.Err = apierror.Invalid(name, "is no parameter of %s; there are %s", op.Name, strings.Join(names, ", "))
	}
	return refused
}

// coerce reads the text of a single value as variables have it; false where it is none.
func coerce(text string, of *ast.Type, schema *ast.Schema) (any, bool) {
	def := schema.Types[of.NamedType]
	switch {
	case of.Elem != nil || def == nil:
		return nil, false
	case def.Kind == ast.InputObject:
		var value any
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		dec.UseNumber()
		return value, dec.Decode(&value) == nil
	case of.NamedType == "Int":
		_, err := strconv.ParseInt(text, 10, 32)
		return json.Number(text), err == nil
	case of.NamedType == "Float":
		_, err := strconv.ParseFloat(text, 64)
		return json.Number(text), err == nil
	case of.NamedType == "Boolean":
		return text == "true", text == "true" || text == "false"
	}
	return text, true
}

// ifMatch sets the version that the caller means, from an entity tag as the answers have it.
func ifMatch(tag string, op *operation.Operation, into map[string]any) *params.Refusal {
	version, err := strconv.Unquote(tag)
	if op.Definition.VariableDefinitions.ForName(operation.Version) == nil {
		return params.Refuse(http.StatusBadRequest, "If-Match", "%s knows no versions: leave the header out", op.Name)
	}
	if err != nil || tag[0] != '"' {
		return params.Refuse(http.StatusBadRequest, "If-Match", `must be one entity tag as in the header ETag, such as "1234"`)
	}
	if given, twice := into[operation.Version]; twice && given != version {
		return params.Refuse(http.StatusBadRequest, "If-Match", "differs from resourceVersion in the body: send one of them")
	}
	into[operation.Version] = version
	return nil
}
