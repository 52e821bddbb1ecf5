package params

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// Bounds of what stands beside a document. A value of JSON takes some ten times as
// much memory as text, so the size of the body alone bounds too little.
const (
	maxInputValues = 50_000
	maxInputDepth  = 100
)

// ReadObject reads the members of a JSON object. Names that come twice are refused:
// what is between may have read another one than we do.
func ReadObject(text []byte) (map[string]json.RawMessage, *Refusal) {
	if !utf8.Valid(text) {
		return nil, Refuse(http.StatusBadRequest, "", "the body is not UTF-8")
	}
	members, refused := checkSize(text)
	if refused != nil {
		return nil, refused
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return nil, Refuse(http.StatusBadRequest, "", "the body is not a JSON object")
	}
	if members > len(fields) {
		return nil, Refuse(http.StatusBadRequest, "", "the body has a parameter twice")
	}
	return fields, nil
}

// checkSize counts the values of a text of JSON, and how deep they nest, without
// making any of them. It returns how many members the outermost object has.
func checkSize(text []byte) (members int, refused *Refusal) {
	values, depth, quoted := 1, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ':' && depth == 1:
			members++
		case c == ',':
			values++
		case c == '[' || c == '{':
			values++
			depth++
			if depth > maxInputDepth {
				return 0, tooMuch("variables and extensions nest more than %d deep; that is the limit", maxInputDepth)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	if values > maxInputValues {
		return 0, tooMuch("variables and extensions have more than %d values; that is the limit", maxInputValues)
	}
	return members, nil
}

// readBody reads a body of at most so many bytes, with one buffer where its length is
// known.
func readBody(w http.ResponseWriter, r *http.Request, maxBytes int64) ([]byte, error) {
	if r.ContentLength > maxBytes {
		return nil, &http.MaxBytesError{Limit: maxBytes}
	}
	var b bytes.Buffer
	b.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxBytes))
	return b.Bytes(), err
}

func tooMuch(format string, args ...any) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Err: apierror.New(apierror.CodeQueryTooComplex, format, args...)}
}

// allUTF8 reports whether the values of a query string are text.
func allUTF8(values url.Values) bool {
	for _, list := range values {
		for _, text := range list {
			if !utf8.ValidString(text) {
				return false
			}
		}
	}
	return true
}

// CheckContent refuses the kind of body that a request has, unless it is a GET; nil where it is right.
func CheckContent(r *http.Request) *Refusal {
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case r.Method == http.MethodGet:
		return nil
	case !mediatype.IsJSON(r.Header):
		return Refuse(http.StatusUnsupportedMediaType, "", "the Content-Type of a %s must be %s in UTF-8", r.Method, mediatype.JSON)
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		// A few bytes of one may be gigabytes of text.
		return Refuse(http.StatusUnsupportedMediaType, "", "compressed bodies are not taken")
	}
	return nil
}
