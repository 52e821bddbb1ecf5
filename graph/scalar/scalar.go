// Package scalar writes the schema's scalars.
package scalar

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// MarshalTime writes a moment as RFC 3339 in UTC, with as many fractional
// digits as it has, up to milliseconds.
func MarshalTime(t time.Time) graphql.Marshaler {
	if t.IsZero() {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.Quote(t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)))
	})
}

// UnmarshalTime reads a moment in RFC 3339. That of a variable was read before.
func UnmarshalTime(v any) (time.Time, error) {
	if t, read := v.(time.Time); read {
		return t, nil
	}
	text, ok := v.(string)
	if !ok {
		return time.Time{}, errors.New("a time is text in RFC 3339, for example 2026-01-31T12:00:00Z")
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, errors.New("a time is text in RFC 3339, for example 2026-01-31T12:00:00Z")
	}
	return t, nil
}

// MarshalManifest writes a whole object.
func MarshalManifest(m map[string]any) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		raw, err := json.Marshal(m)
		if err != nil {
			raw = []byte("null")
		}
		_, _ = w.Write(raw)
	})
}

// MarshalText writes a whole object that is JSON already.
func MarshalText(text json.RawMessage) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(text) })
}

// UnmarshalText reads a whole object as JSON.
func UnmarshalText(v any) (json.RawMessage, error) {
	m, err := UnmarshalManifest(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

// UnmarshalManifest reads a whole object.
func UnmarshalManifest(v any) (map[string]any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("an object is expected here")
	}
	return m, nil
}
