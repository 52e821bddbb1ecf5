package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// writeErrors answers a request that was refused before execution: such a
// response has no data entry at all.
func writeErrors(w http.ResponseWriter, mediaType string, status int, errs gqlerror.List) {
	var b bytes.Buffer
	b.WriteByte('{')
	writeEntry(&b, "errors", errs)
	b.WriteByte('}')
	writeBody(w, mediaType, status, b.Bytes())
}

// writeResult answers a request that was executed. The data is written as
// gqlgen made it: passing it through json.Marshal again would check and copy every byte once more.
func writeResult(w http.ResponseWriter, mediaType string, resp *graphql.Response) {
	var b bytes.Buffer
	b.Grow(len(resp.Data) + 64)
	b.WriteByte('{')
	// Errors come first, so that a person who reads a long response sees them.
	if len(resp.Errors) > 0 {
		writeEntry(&b, "errors", resp.Errors)
		b.WriteByte(',')
	}
	b.WriteString(`"data":`)
	if len(resp.Data) > 0 {
		b.Write(resp.Data)
	} else {
		b.WriteString("null")
	}
	if len(resp.Extensions) > 0 {
		b.WriteByte(',')
		writeEntry(&b, "extensions", resp.Extensions)
	}
	b.WriteByte('}')
	writeBody(w, mediaType, http.StatusOK, b.Bytes())
}

func writeEntry(b *bytes.Buffer, name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		// Errors and extensions are made of strings and numbers; the handler's recovery reports the bug that broke that.
		panic(err)
	}
	b.WriteString(strconv.Quote(name))
	b.WriteByte(':')
	b.Write(text)
}

func writeBody(w http.ResponseWriter, mediaType string, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// What one user may see must not be kept for the next one.
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept, Authorization")
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // The client went away.
}
