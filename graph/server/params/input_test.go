package params

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

// FuzzReadObject compares the quick look at a body with one that reads every name.
func FuzzReadObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a:":":"}`, `{"a\":":1,"b":[{"c":1}]}`, `[]`, `{"a":1}{}`, `null`, `{"\u0061":1,"a":2}`,
		`{"a":"\\"}`, `{"a":"\\\"","b":1}`, "{\"\xff\":1}", `{"a"`, ` {"a" : 1 , "b" : 2 } `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fields, refused := ReadObject(text)
		names, ok := namesOf(text)
		if refused == nil && (!ok || len(names) != len(fields)) {
			t.Errorf("%q: accepted with %d members, and it has %v", text, len(fields), names)
		}
		if refused != nil && ok && isText(text) && !twice(names) && len(text) < maxInputDepth {
			t.Errorf("%q: refused: %v", text, refused.Err)
		}
	})
}

func isText(text []byte) bool {
	return json.Valid(text) && bytes.Equal(bytes.ToValidUTF8(text, nil), text)
}

func twice(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// namesOf are the names of an object's members; false where the text is none.
func namesOf(text []byte) (names []string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if opening, err := dec.Token(); err != nil || opening != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		names = append(names, name.(string)) //nolint:forcetypeassert // A decoder takes nothing else for a name.
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return names, errors.Is(err, io.EOF)
}
