package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// refusal is a request that ends before GraphQL sees it.
type refusal struct {
	status int
	err    *apierror.Error
}

func refuse(status int, argument, format string, args ...any) *refusal {
	return &refusal{status: status, err: apierror.Invalid(argument, format, args...)}
}

// postParams reads the parameters of a POST. What it refuses is described
// without repeating it: a body may hold secrets.
func postParams(w http.ResponseWriter, r *http.Request, maxBytes int64) (*graphql.RawParams, *refusal) {
	body, err := readBody(w, r, maxBytes)
	if err == nil {
		unboundBody(w) // What goes on for long listens for the end of the connection.
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, refuse(http.StatusRequestEntityTooLarge, "", "the body is larger than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "", "the body ended before it was complete")
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return nil, refuse(http.StatusBadRequest, "", `the body is empty: send a JSON object with "query"`)
	case body[0] == '[':
		return nil, refuse(http.StatusBadRequest, "", "batches are not supported: send one operation per request")
	}
	fields, refused := readObject(body)
	if refused != nil {
		return nil, refused
	}
	return paramsOf(fields)
}

// getParams reads the parameters of a GET, where variables and extensions are JSON in the query string.
func getParams(r *http.Request, maxBytes int64) (*graphql.RawParams, *refusal) {
	if int64(len(r.URL.RawQuery)) > maxBytes {
		return nil, refuse(http.StatusRequestURITooLong, "", "the query string is longer than %d bytes", maxBytes)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !allUTF8(values) {
		return nil, refuse(http.StatusBadRequest, "", "the query string is malformed")
	}
	fields := map[string]json.RawMessage{}
	for _, name := range []string{"query", "operationName", "documentId", "variables", "extensions"} {
		// As with a body: what is between may have read another one than we do.
		if len(values[name]) > 1 {
			return nil, refuse(http.StatusBadRequest, name, "is in the query string twice")
		}
	}
	for _, name := range []string{"query", "operationName", "documentId"} {
		if values.Has(name) {
			fields[name], _ = json.Marshal(values.Get(name)) //nolint:errchkjson // A string always marshals.
		}
	}
	for _, name := range []string{"variables", "extensions"} {
		if text := values.Get(name); text != "" {
			if _, refused := checkSize([]byte(text)); refused != nil {
				return nil, refused
			}
			fields[name] = json.RawMessage(text)
		}
	}
	return paramsOf(fields)
}

func paramsOf(fields map[string]json.RawMessage) (*graphql.RawParams, *refusal) {
	var p graphql.RawParams
	var documentID string
	if !decodeParam(fields["documentId"], &documentID) {
		return nil, refuse(http.StatusBadRequest, "documentId", "must be a string or null")
	}
	if !decodeParam(fields["query"], &p.Query) {
		return nil, refuse(http.StatusBadRequest, "query", "must be a string with a GraphQL document")
	}
	if !decodeParam(fields["operationName"], &p.OperationName) {
		return nil, refuse(http.StatusBadRequest, "operationName", "must be a string or null")
	}
	if !decodeParam(fields["variables"], &p.Variables) {
		return nil, refuse(http.StatusBadRequest, "variables", "must be a JSON object or null")
	}
	if !decodeParam(fields["extensions"], &p.Extensions) {
		return nil, refuse(http.StatusBadRequest, "extensions", "must be a JSON object or null")
	}
	if documentID != "" {
		document.NameByID(&p, documentID)
	}
	if p.Query == "" && p.Extensions[document.PersistedExtension] == nil {
		return nil, refuse(http.StatusBadRequest, "query", "must be a string with a GraphQL document")
	}
	return &p, nil
}

// decodeParam keeps numbers as they were written: a float64 would round a large integer.
func decodeParam(raw json.RawMessage, into any) bool {
	if raw == nil {
		return true
	}
	if text, isText := into.(*string); isText {
		return json.Unmarshal(raw, text) == nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(into) != nil {
		return false
	}
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}
