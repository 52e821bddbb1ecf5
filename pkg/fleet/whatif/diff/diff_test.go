package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := utiljson.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// lines are changes as "path: before -> after".
func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		value := func(s *string) string {
			if s == nil {
				return "-"
			}
			return *s
		}
		out = append(out, c.Path+": "+value(c.Before)+" -> "+value(c.After))
	}
	return out
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		reason, before, after string
		// between are all changes, within those of what the first has.
		between, within []string
	}{
		{reason: "equal manifests", before: `{"a":{"b":1}}`, after: `{"a":{"b":1.0}}`},
		{
			reason: "a value changed", before: `{"a":{"b/c":"x"}}`, after: `{"a":{"b/c":"y"}}`,
			between: []string{`/a/b~1c: "x" -> "y"`}, within: []string{`/a/b~1c: "x" -> "y"`},
		},
		{
			reason: "a value was removed", before: `{"a":1,"b":2}`, after: `{"b":2}`,
			between: []string{`/a: 1 -> -`}, within: []string{`/a: 1 -> -`},
		},
		{
			reason: "a value was added, which may be a default", before: `{"b":2}`, after: `{"a":{"x":"<"},"b":2}`,
			between: []string{`/a: - -> {"x":"<"}`},
		},
		{
			reason: "zero values that the cluster leaves out", before: `{"a":false,"b":"","c":[],"d":{"e":null},"f":0}`, after: `{}`,
			between: []string{`/a: false -> -`, `/b: "" -> -`, `/c: [] -> -`, `/d: {"e":null} -> -`, `/f: 0 -> -`},
		},
		{reason: "null stands for no value", before: `{"a":null}`, after: `{}`},
		{
			reason: "null stands for no value, and a default took its place", before: `{"a":null}`, after: `{"a":1}`,
			between: []string{`/a: - -> 1`},
		},
		{
			reason: "items are found by name", before: `{"c":[{"name":"a","image":"1"},{"name":"b"}]}`, after: `{"c":[{"name":"a","image":"2","policy":"x"},{"name":"b"},{"name":"c"}]}`,
			between: []string{`/c/0/image: "1" -> "2"`, `/c/0/policy: - -> "x"`, `/c/2: - -> {"name":"c"}`},
			within:  []string{`/c/0/image: "1" -> "2"`, `/c/2: - -> {"name":"c"}`},
		},
		{
			reason: "an item was inserted before others", before: `{"c":[{"name":"b","v":1}]}`, after: `{"c":[{"name":"a"},{"name":"b","v":2}]}`,
			between: []string{`/c/0/v: 1 -> 2`, `/c/0: - -> {"name":"a"}`}, within: []string{`/c/0/v: 1 -> 2`, `/c/0: - -> {"name":"a"}`},
		},
		{
			reason: "the order matters", before: `{"c":[{"name":"a"},{"name":"b"}]}`, after: `{"c":[{"name":"b"},{"name":"a"}]}`,
			between: []string{`/c: [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]`},
			within:  []string{`/c: [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]`},
		},
		{
			reason: "a name that is there twice is no key, and the next one is", before: `{"m":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b"}]}`,
			after:   `{"m":[{"name":"v","mountPath":"/a"}]}`,
			between: []string{`/m/1: {"mountPath":"/b","name":"v"} -> -`}, within: []string{`/m/1: {"mountPath":"/b","name":"v"} -> -`},
		},
		{
			reason: "values in a list are compared by their place", before: `{"args":["a","b"]}`, after: `{"args":["a","c"]}`,
			between: []string{`/args/1: "b" -> "c"`}, within: []string{`/args/1: "b" -> "c"`},
		},
		{
			reason: "a longer list of values is another list", before: `{"args":["a"]}`, after: `{"args":["a","c"]}`,
			between: []string{`/args: ["a"] -> ["a","c"]`}, within: []string{`/args: ["a"] -> ["a","c"]`},
		},
		{
			reason: "another type", before: `{"a":{"b":1}}`, after: `{"a":[1]}`,
			between: []string{`/a: {"b":1} -> [1]`}, within: []string{`/a: {"b":1} -> [1]`},
		},
	} {
		before, after := object(t, c.before), object(t, c.after)
		if d := cmp.Diff(c.between, lines(Between(before, after))); d != "" {
			t.Errorf("%s: between (-want +got)\n%s", c.reason, d)
		}
		if d := cmp.Diff(c.within, lines(Within(before, after))); d != "" {
			t.Errorf("%s: within (-want +got)\n%s", c.reason, d)
		}
	}
}

func TestTextIsLimited(t *testing.T) {
	long := strings.Repeat("ä", MaxText)
	changes := Between(map[string]any{}, map[string]any{"a": long})
	if got := *changes[0].After; len(got) > MaxText+len("…") || !strings.HasSuffix(got, "ä…") {
		t.Errorf("a long value is %d bytes", len(got))
	}
	if !json.Valid([]byte(*Between(map[string]any{}, map[string]any{"a": "x"})[0].After)) {
		t.Error("a short value is no JSON")
	}
}
