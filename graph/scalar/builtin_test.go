package scalar_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/scalar"
)

// TestRead is the input coercion of the GraphQL specification (3.5): a document's values
// are Go's own, and numbers of variables are json.Number.
func TestRead(t *testing.T) {
	n := func(s string) json.Number { return json.Number(s) }
	for _, tt := range []struct {
		scalar string
		value  any
		want   any // nil where the value is refused
		says   string
		why    string
	}{
		{"Int", int64(5), 5, "", "a number of a document"},
		{"Int", 5, 5, "", "a default of the schema"},
		{"Int", n("5"), 5, "", "a number of a variable"},
		{"Int", n("-0"), 0, "", "it is a whole number"},
		{"Int", n("2.0"), 2, "", "JSON has one kind of number, and clients write 2 as 2.0"},
		{"Int", n("2e3"), 2000, "", "the same"},
		{"Int", n("2147483647"), math.MaxInt32, "", "the largest"},
		{"Int", n("-2147483648"), math.MinInt32, "", "the smallest"},
		{"Int", n("2147483648"), nil, "another number", "32 bits are all that an Int has"},
		{"Int", int64(-2147483649), nil, "another number", "in a document too"},
		{"Int", n("1e400"), nil, "another number", "no float64 holds it"},
		{"Int", n("99999999999999999999"), nil, "another number", "no int64 holds it"},
		{"Int", n("2.5"), nil, "another number", "it has a fraction"},
		{"Int", 2.0, nil, "another number", "a document writes the number's type"},
		{"Int", "2", nil, "a string", "text is no number"},
		{"Int", "", nil, "a string", "text is no number"},
		{"Int", true, nil, "a boolean", ""},
		{"Int", nil, 0, "", "null is read only where it is allowed"},
		{"Int", []any{n("1")}, nil, "a list", ""},
		{"Int", map[string]any{}, nil, "an object", ""},

		{"Int64", n("9223372036854775807"), int64(math.MaxInt64), "", "the largest"},
		{"Int64", n("9223372036854775808"), nil, "another number", "one more"},
		{"Int64", n("9007199254740993.0"), nil, "another number", "a float64 would make another number of it"},
		{"Int64", "5", nil, "a string", "text is no number"},

		{"Float", n("1.5"), 1.5, "", ""},
		{"Float", 1.5, 1.5, "", "a number of a document"},
		{"Float", int64(2), 2.0, "", "whole numbers are Floats"},
		{"Float", n("2"), 2.0, "", "the same"},
		{"Float", n("1e400"), nil, "another number", "it is not finite"},
		{"Float", "1.5", nil, "a string", "text is no number"},
		{"Float", false, nil, "a boolean", ""},

		{"String", "5", "5", "", ""},
		{"String", "", "", "", "empty text is text"},
		{"String", n("5"), nil, "a number", "a json.Number is a string in Go, and no String"},
		{"String", int64(5), nil, "a number", ""},
		{"String", 1.5, nil, "a number", ""},
		{"String", true, nil, "a boolean", ""},
		{"String", nil, "", "", "null is read only where it is allowed"},
		{"String", []any{"a"}, nil, "a list", ""},

		{"Boolean", true, true, "", ""},
		{"Boolean", false, false, "", ""},
		{"Boolean", "true", nil, "a string", "text is no boolean"},
		{"Boolean", n("1"), nil, "a number", "a number is no boolean"},
		{"Boolean", int64(0), nil, "a number", ""},
		{"Boolean", nil, false, "", "null is read only where it is allowed"},

		{"ID", "a", "a", "", ""},
		{"ID", n("5"), "5", "", "the specification lets whole numbers be IDs"},
		{"ID", int64(5), "5", "", "in a document too"},
		{"ID", n("5.5"), nil, "another number", "but no fractions"},
		{"ID", 5.0, nil, "another number", ""},
		{"ID", true, nil, "a boolean", ""},
		{"ID", nil, "", "", "gqlgen makes \"null\" of it"},

		{"Time", "yesterday", nil, "", "it is no RFC 3339"},
		{"Time", n("5"), nil, "", "it is no text"},
		{"JSON", n("5"), n("5"), "", "any value is good"},
	} {
		got, err := scalar.Read(tt.scalar, tt.value)
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%s of %#v: got %#v, want an error: %s", tt.scalar, tt.value, got, tt.why)
		case tt.want == nil && !strings.HasSuffix(err.Error(), tt.says):
			t.Errorf("%s of %#v: the error does not say that it is %s: %v", tt.scalar, tt.value, tt.says, err)
		case tt.want != nil && (err != nil || got != tt.want):
			t.Errorf("%s of %#v: got %#v, %v, want %#v: %s", tt.scalar, tt.value, got, err, tt.want, tt.why)
		}
	}
}

// TestErrorsDoNotRepeatTheValue: it may be a secret in the wrong place.
func TestErrorsDoNotRepeatTheValue(t *testing.T) {
	for _, name := range []string{"Boolean", "Float", "Int", "Int64", "Time"} {
		if _, err := scalar.Read(name, "hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInt32(t *testing.T) {
	if i, err := scalar.UnmarshalInt32(json.Number("-2147483648")); err != nil || i != math.MinInt32 {
		t.Errorf("got %d, %v", i, err)
	}
	if _, err := scalar.UnmarshalInt32(json.Number("2147483648")); err == nil {
		t.Error("it is beyond 32 bits")
	}
}

// TestWhatWasReadIsReadAgain: variables are read when they are checked, and again by the field that has them.
func TestWhatWasReadIsReadAgain(t *testing.T) {
	for name, v := range map[string]any{
		"Boolean": true, "Float": json.Number("1.5"), "ID": "a", "Int": json.Number("5"), "Int64": json.Number("5"), "String": "a", "Time": "2026-01-31T12:00:00.5Z",
	} {
		once, err := scalar.Read(name, v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := scalar.Read(name, once); err != nil || again != once {
			t.Errorf("%s: %#v is read as %#v, %v", name, once, again, err)
		}
	}
}
