package subscription

import (
	"encoding/json"
	"testing"
)

func TestEventID(t *testing.T) {
	ids := eventIDs{root: "events", cursor: "cursor"}
	for _, tt := range []struct {
		data, want, why string
	}{
		{`{"events":{"cursor":"c1","n":1}}`, "c1", "the first member"},
		{`{"events":{"object":{"cursor":"inner","a":["}",{"b":"\"]}"}]},"n":-1.5e3,"t":true,"cursor":"c2"}}`, "c2", "what is passed is not looked into"},
		{"{\n \"events\" : {\n\t\"n\" : null , \"cursor\" : \"c3\" }}", "c3", "spaces"},
		{`{"events":{"text":"\\","cursor":"c4"}}`, "c4", "a backslash at the end of a text"},
		{`{"events":{"cursor":"ü\u0041"}}`, "üA", "escapes of the value"},
		{`{"events":{"cursor":"a\nb"}}`, "", "an id is one line"},
		{`{"events":{"cursor":null}}`, "", "no cursor"},
		{`{"events":{"n":1}}`, "", "not selected"},
		{`{"events":null}`, "", "the event failed"},
		{`{"other":{"cursor":"c"}}`, "", "another root"},
		{`null`, "", "no data"},
		{``, "", "no data"},
		{`{"events":{"cursor":`, "", "cut off"},
	} {
		if got := ids.of([]byte(tt.data)); got != tt.want {
			t.Errorf("%s: got %q, want %q: %s", tt.data, got, tt.want, tt.why)
		}
	}
}

// FuzzMember finds what encoding/json finds, and never runs out of what it was given.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,{"c":"}"}]},"x":"y"}`, `{"x":{}}`, `{"x":[]}`, `{"":1,"x":-0.5}`, `{"\"x":1,"x":2}`, `[`, `{"x"`, `{"x":"\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		from, to, ok := member(data, "x")
		got := data[from:to]
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil {
			return // Only that it comes back matters.
		}
		want, exists := object["x"]
		if !ok {
			// A name may be written with escapes, which gqlgen does not do.
			return
		}
		if !exists || !json.Valid(got) {
			t.Fatalf("found %q in %q, want %q", got, data, want)
		}
	})
}
