package scalar

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// The readers below follow the input coercion of the GraphQL specification. They read
// the values of documents (int64, float64, string, bool), of variables (json.Number
// for numbers) and of defaults in the schema (int). gqlgen has them read null too, where
// it is allowed and the Go type has no value of its own for it: they make the zero value
// of it. Null where it is not allowed is refused before the operation begins.

// MarshalInt writes an Int.
func MarshalInt(i int) graphql.Marshaler { return graphql.MarshalInt(i) }

// UnmarshalInt reads an Int.
func UnmarshalInt(v any) (int, error) {
	if v == nil {
		return 0, nil
	}
	i, ok := whole(v)
	if !ok || i < math.MinInt32 || i > math.MaxInt32 {
		return 0, mismatch(v, "a whole number from -2147483648 to 2147483647 (Int)")
	}
	return int(i), nil
}

// MarshalInt32 writes an Int that is an int32 in Go.
func MarshalInt32(i int32) graphql.Marshaler { return graphql.MarshalInt32(i) }

// UnmarshalInt32 reads an Int that is an int32 in Go.
func UnmarshalInt32(v any) (int32, error) {
	i, err := UnmarshalInt(v)
	return int32(i), err //nolint:gosec // UnmarshalInt checks the range.
}

// MarshalInt64 writes an Int64.
func MarshalInt64(i int64) graphql.Marshaler { return graphql.MarshalInt64(i) }

// UnmarshalInt64 reads an Int64.
func UnmarshalInt64(v any) (int64, error) {
	if v == nil {
		return 0, nil
	}
	i, ok := whole(v)
	if !ok {
		return 0, mismatch(v, "a whole number of at most 63 bits (Int64)")
	}
	return i, nil
}

// MarshalFloatContext writes a Float; it fails for what JSON cannot hold.
func MarshalFloatContext(f float64) graphql.ContextMarshaler { return graphql.MarshalFloatContext(f) }

// UnmarshalFloatContext reads a Float.
func UnmarshalFloatContext(_ context.Context, v any) (float64, error) { return UnmarshalFloat(v) }

// UnmarshalFloat reads a Float.
func UnmarshalFloat(v any) (float64, error) {
	switch v := v.(type) {
	case nil:
		return 0, nil
	case float64:
		return v, nil
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f, nil
		}
	default:
		if i, ok := whole(v); ok {
			return float64(i), nil
		}
	}
	return 0, mismatch(v, "a finite number (Float)")
}

// MarshalString writes a String.
func MarshalString(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// UnmarshalString reads a String.
func UnmarshalString(v any) (string, error) {
	s, ok := v.(string)
	if !ok && v != nil {
		return "", mismatch(v, "a string (String)")
	}
	return s, nil
}

// MarshalBoolean writes a Boolean.
func MarshalBoolean(b bool) graphql.Marshaler { return graphql.MarshalBoolean(b) }

// UnmarshalBoolean reads a Boolean.
func UnmarshalBoolean(v any) (bool, error) {
	b, ok := v.(bool)
	if !ok && v != nil {
		return false, mismatch(v, "true or false (Boolean)")
	}
	return b, nil
}

// MarshalID writes an ID.
func MarshalID(s string) graphql.Marshaler { return graphql.MarshalID(s) }

// UnmarshalID reads an ID, which may be sent as a whole number.
func UnmarshalID(v any) (string, error) {
	if s, ok := v.(string); ok || v == nil {
		return s, nil
	}
	i, ok := whole(v)
	if !ok {
		return "", mismatch(v, "a string or a whole number (ID)")
	}
	return strconv.FormatInt(i, 10), nil
}

// whole returns a number without a fraction. JSON has one kind of number, so 2.0 in
// variables is as whole as 2.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, true
		}
		const exact = 1 << 53 // Beyond it, a float64 may be another number.
		f, err := v.Float64()
		return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < exact
	default:
		return 0, false
	}
}
