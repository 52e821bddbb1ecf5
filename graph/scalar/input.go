package scalar

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readers read the scalars whose values are checked before an operation begins.
var readers = map[string]func(any) (any, error){
	"Boolean": reader(UnmarshalBoolean),
	"Float":   reader(UnmarshalFloat),
	"ID":      reader(UnmarshalID),
	"Int":     reader(UnmarshalInt),
	"Int64":   reader(UnmarshalInt64),
	"String":  reader(UnmarshalString),
	"Time":    reader(UnmarshalTime),
}

func reader[T any](read func(any) (T, error)) func(any) (any, error) {
	return func(v any) (any, error) { return read(v) }
}

// Read reads a value of the scalar of a name. A scalar that is not one of this package's
// is returned as it is: JSON takes any value, and others are read with the field's arguments.
func Read(name string, v any) (any, error) {
	if read, ok := readers[name]; ok {
		return read(v)
	}
	return v, nil
}

// mismatch is the error about a value of another type or range. It does not repeat the
// value, which may be a secret in the wrong place.
func mismatch(v any, expected string) error {
	kind := KindOf(v)
	if kind == number && strings.Contains(expected, "number") {
		kind = "another number"
	}
	return fmt.Errorf("must be %s, and is %s", expected, kind)
}

const number = "a number"

// KindOf names the kind of an input value, for messages.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case json.Number, int, int64, float64:
		return number
	case []any:
		return "a list"
	default:
		return "an object"
	}
}
