package testschema

import (
	"errors"
	"io"
	"strconv"
)

// Word is the scalar: it accepts "ok" alone.
type Word string //nolint:recvcheck // Marshalling takes a value, unmarshalling a pointer, as the generator wants.

// UnmarshalGQL implements graphql.Unmarshaler.
func (w *Word) UnmarshalGQL(v any) error {
	if v != "ok" {
		return errors.New(`a word must be "ok"`)
	}
	*w = "ok"
	return nil
}

// MarshalGQL implements graphql.Marshaler.
func (w Word) MarshalGQL(out io.Writer) { io.WriteString(out, strconv.Quote(string(w))) } //nolint:errcheck // The writer is a buffer.

// Item is an object of the list.
type Item struct {
	Name string
}
