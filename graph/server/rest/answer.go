package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// answer writes the result of an operation: the object that its Result leads to.
func (t Transport) answer(w http.ResponseWriter, r *http.Request, op *operation.Operation, resp *graphql.Response) {
	object := op.Unwrap(resp.Data)
	switch {
	case object == nil && len(resp.Errors) > 0:
		writeProblem(w, statusOf(resp.Errors), resp.Errors)
		return
	case object == nil:
		Fail(r.Context(), w, t.Present, http.StatusNotFound, apierror.New(apierror.CodeNotFound, "there is no such object, or you may not know that there is"))
		return
	}
	if tag := tagOf(op, object); tag != "" {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag && len(resp.Errors) == 0 {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	response.Compress(r, beside(object, resp)).Write(w, mediatype.JSON)
}

// beside adds to the object what the answer has beside its data: errors, where parts of it are missing, and warnings.
func beside(object []byte, resp *graphql.Response) []byte {
	if len(resp.Errors) == 0 && len(resp.Extensions) == 0 {
		return object
	}
	var b bytes.Buffer
	b.Grow(len(object) + 256)
	b.Write(object[:len(object)-1])
	add := func(name string, value any) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		response.AppendValue(&b, value)
	}
	if len(resp.Errors) > 0 {
		add("errors", failuresOf(resp.Errors))
	}
	if len(resp.Extensions) > 0 {
		add("extensions", resp.Extensions)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// tagOf is the entity tag of an object: its version in the instance. Objects without one have no tag.
func tagOf(op *operation.Operation, object []byte) string {
	if !op.Versioned {
		return "" // A list of objects with versions is not read once more.
	}
	var version struct {
		ResourceVersion string `json:"resourceVersion"`
	}
	if json.Unmarshal(object, &version) != nil || version.ResourceVersion == "" {
		return ""
	}
	return strconv.Quote(version.ResourceVersion)
}
