package diff

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// MaxText limits the text of a value, in bytes.
const MaxText = 2000

// text is a value as JSON, shortened; nil for no value.
func text(value any) *string {
	if value == nil {
		return nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // It was read from JSON.
	}
	out := strings.TrimSuffix(b.String(), "\n")
	if len(out) > MaxText {
		out = strings.ToValidUTF8(out[:MaxText], "") + "…"
	}
	return &out
}

// equal compares values as JSON has them: 1 and 1.0 are the same.
func equal(a, b any) bool {
	if x, ok := number(a); ok {
		y, also := number(b)
		return also && x == y
	}
	return reflect.DeepEqual(a, b)
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// empty reports whether an API server may leave a value out: the zero value of its type.
func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if field != nil && !empty(field) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	n, ok := number(value)
	return value == "" || value == false || ok && n == 0
}
