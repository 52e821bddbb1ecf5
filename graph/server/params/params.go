// Package params reads the parameters of GraphQL requests, within limits of their size.
package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/body"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// Refusal is the answer to a request that ends before GraphQL sees it.
type Refusal struct {
	Status int
	Err    *apierror.Error
}

// Refuse returns a refusal because of an argument.
func Refuse(status int, argument, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Err: apierror.Invalid(argument, format, args...)}
}

// FromRequest reads the parameters of a GET or a POST of at most so many bytes.
func FromRequest(w http.ResponseWriter, r *http.Request, maxBytes int64) (*graphql.RawParams, *Refusal) {
	if r.Method == http.MethodGet {
		return getParams(r, maxBytes)
	}
	if refused := CheckContent(r); refused != nil {
		return nil, refused
	}
	return postParams(w, r, maxBytes)
}

// postParams reads the parameters of a POST.
func postParams(w http.ResponseWriter, r *http.Request, maxBytes int64) (*graphql.RawParams, *Refusal) {
	fields, refused := readFields(w, r, maxBytes, `the body is empty: send a JSON object with "query"`, "batches are not supported: send one operation per request")
	if refused != nil {
		return nil, refused
	}
	return FromObject(fields)
}

// ReadBody reads the members of a body, which is a JSON object of at most so many bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, maxBytes int64) (map[string]json.RawMessage, *Refusal) {
	if refused := CheckContent(r); refused != nil {
		return nil, refused
	}
	return readFields(w, r, maxBytes, "the body is empty: send a JSON object", "the body is a list: send a JSON object")
}

// readFields reads the members of a body. What it refuses is described without repeating it: a body may hold secrets.
func readFields(w http.ResponseWriter, r *http.Request, maxBytes int64, empty, list string) (map[string]json.RawMessage, *Refusal) {
	text, err := readBody(w, r, maxBytes)
	if err == nil {
		body.ClearDeadline(w) // What goes on for long listens for the end of the connection.
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, Refuse(http.StatusRequestEntityTooLarge, "", "the body is larger than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, Refuse(http.StatusBadRequest, "", "the body ended before it was complete")
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil, Refuse(http.StatusBadRequest, "", "%s", empty)
	case text[0] == '[':
		return nil, Refuse(http.StatusBadRequest, "", "%s", list)
	}
	return ReadObject(text)
}

// getParams reads the parameters of a GET, where variables and extensions are JSON in the query string.
func getParams(r *http.Request, maxBytes int64) (*graphql.RawParams, *Refusal) {
	if int64(len(r.URL.RawQuery)) > maxBytes {
		return nil, Refuse(http.StatusRequestURITooLong, "", "the query string is longer than %d bytes", maxBytes)
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !allUTF8(values) {
		return nil, Refuse(http.StatusBadRequest, "", "the query string is malformed")
	}
	fields := map[string]json.RawMessage{}
	for _, name := range []string{"query", "operationName", "documentId", "variables", "extensions"} {
		// As with a body: what is between may have read another one than we do.
		if len(values[name]) > 1 {
			return nil, Refuse(http.StatusBadRequest, name, "is in the query string twice")
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
	return FromObject(fields)
}

// FromObject reads the parameters of an object.
func FromObject(fields map[string]json.RawMessage) (*graphql.RawParams, *Refusal) {
	var p graphql.RawParams
	var documentID string
	if !Decode(fields["documentId"], &documentID) {
		return nil, Refuse(http.StatusBadRequest, "documentId", "must be a string or null")
	}
	if !Decode(fields["query"], &p.Query) {
		return nil, Refuse(http.StatusBadRequest, "query", "must be a string with a GraphQL document")
	}
	if !Decode(fields["operationName"], &p.OperationName) {
		return nil, Refuse(http.StatusBadRequest, "operationName", "must be a string or null")
	}
	if !Decode(fields["variables"], &p.Variables) {
		return nil, Refuse(http.StatusBadRequest, "variables", "must be a JSON object or null")
	}
	if !Decode(fields["extensions"], &p.Extensions) {
		return nil, Refuse(http.StatusBadRequest, "extensions", "must be a JSON object or null")
	}
	if documentID != "" {
		document.NameByID(&p, documentID)
	}
	if p.Query == "" && p.Extensions[document.PersistedExtension] == nil {
		return nil, Refuse(http.StatusBadRequest, "query", "must be a string with a GraphQL document")
	}
	return &p, nil
}

// Decode reads a value into a variable, and reports whether it fits. It keeps numbers as they were written: a float64 would round a large integer.
func Decode(raw json.RawMessage, into any) bool {
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
