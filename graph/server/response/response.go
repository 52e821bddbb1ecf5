// Package response writes GraphQL responses.
package response

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// WriteErrors answers a request that was refused before execution: such a
// response has no data entry at all.
func WriteErrors(w http.ResponseWriter, mediaType string, status int, errs gqlerror.List) {
	var b bytes.Buffer
	AppendErrors(&b, errs)
	Write(w, mediaType, status, b.Bytes())
}

// WriteResult answers a request that was executed.
func WriteResult(w http.ResponseWriter, r *http.Request, mediaType string, resp *graphql.Response) {
	var b bytes.Buffer
	b.Grow(len(resp.Data) + 64)
	AppendResult(&b, resp)
	Compress(r, b.Bytes()).Write(w, mediaType)
}

// AppendResult writes a result as JSON. The data is written as gqlgen made it:
// passing it through json.Marshal again would check and copy every byte once more.
func AppendResult(b *bytes.Buffer, resp *graphql.Response) {
	b.WriteByte('{')
	// Errors come first, so that a person who reads a long response sees them.
	if len(resp.Errors) > 0 {
		// Resolvers fail in any order; the same failures read the same each time.
		slices.SortStableFunc(resp.Errors, func(a, b *gqlerror.Error) int { return comparePaths(a.Path, b.Path) })
		appendEntry(b, "errors", resp.Errors)
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
		appendEntry(b, "extensions", resp.Extensions)
	}
	b.WriteByte('}')
}

// AppendErrors writes the result of what was not executed, which has no data entry.
func AppendErrors(b *bytes.Buffer, errs gqlerror.List) {
	b.WriteByte('{')
	appendEntry(b, "errors", errs)
	b.WriteByte('}')
}

// comparePaths orders paths as the response has them: list positions by number, names by text.
func comparePaths(a, b ast.Path) int {
	return slices.CompareFunc(a, b, func(x, y ast.PathElement) int {
		i, isIndex := x.(ast.PathIndex)
		j, both := y.(ast.PathIndex)
		if isIndex && both {
			return cmp.Compare(i, j)
		}
		return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
	})
}

func appendEntry(b *bytes.Buffer, name string, value any) {
	b.WriteString(strconv.Quote(name))
	b.WriteByte(':')
	AppendValue(b, value)
}

// AppendValue writes a value as JSON.
func AppendValue(b *bytes.Buffer, value any) {
	// A body that no browser takes for HTML needs no \u003c for <.
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		// Errors and extensions are made of strings and numbers; the handler's recovery reports the bug that broke that.
		panic(err)
	}
	b.Truncate(b.Len() - 1) // The newline that Encode ends with.
}

// Write answers a request with a body of this media type.
func Write(w http.ResponseWriter, mediaType string, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	// What one user may see must not be kept for the next one.
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept, Authorization") // Beside Origin, which CORS adds.
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // The client went away.
}

// RetryAfter returns the whole seconds of the header Retry-After.
func RetryAfter(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

// SetRetryAfter says when to try again, where the error does.
func SetRetryAfter(w http.ResponseWriter, err error) {
	if limited, ok := errors.AsType[*apierror.Error](err); ok && limited.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(RetryAfter(limited.RetryAfter)))
	}
}
