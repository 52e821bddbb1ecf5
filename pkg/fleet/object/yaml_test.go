package object

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"frontend","namespace":"shop","generation":3,
"annotations":{"deployment.kubernetes.io/revision":"1","note":"two\nlines","empty":"","number":"08","yes":"yes"},"labels":{"app":"frontend"}},
"spec":{"replicas":2,"paused":false,"template":{"spec":{"containers":[{"name":"app","image":"registry.example.com/frontend:1","args":[],"command":["sh","-c","echo \"it's <b>here</b>\""],
"resources":{"limits":{"cpu":"500m","memory":"128Mi"}},"env":[{"name":"A","value":"1e3"},{"name":"B","value":"null"}]}],"nodeSelector":null}}},
"status":{"ratio":0.25,"large":9007199254740993,"observedGeneration":3,"conditions":[{"type":"Available","status":"True","message":"Deployment has minimum availability."}]}}`

func parsed(t testing.TB, text string) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// TestYAMLIsAsBefore compares with the library of Kubernetes.
func TestYAMLIsAsBefore(t *testing.T) {
	for _, object := range []map[string]any{
		parsed(t, deployment),
		{"values": []any{
			int64(math.MaxInt64), int64(-1), 5.0, 1e21, 1e-7, 0.1, true, nil, "", " ", "~", "on", "0x1f", "1_000", "2026-11-28", "12:30", "- a", "a: b", "#", "é", "\u2028", "\t", "a\r\nb", "\x00", "<>&",
			strings.Repeat("word ", 60), "trailing \n", map[string]any{}, []any{}, []any{[]any{nil}},
		}},
		{"a10": "natural", "a9": "order", "A": "of", "1": "keys", "": "all", "true": "quoted", "ü": "letters"},
	} {
		want, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := marshalYAML(object); err != nil || got != string(want) {
			t.Errorf("got error %v,\n%s\nwant\n%s", err, got, want)
		}
	}
}

// TestYAMLOfAnyText compares texts of characters that have a meaning in YAML.
func TestYAMLOfAnyText(t *testing.T) {
	characters := []rune("ab01-:#?&*!|>'\"%@`{}[],. \t\n\r\\~=<_+eExonyNtrul\u0001\u0085\u00a0\u2028\ufeff\U0001f600")
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		text := make([]rune, random.IntN(8))
		for i := range text {
			text[i] = characters[random.IntN(len(characters))]
		}
		object := map[string]any{string(text): []any{string(text), map[string]any{"a": string(text)}}}
		got, err := marshalYAML(object)
		if err != nil {
			t.Errorf("%q: %v", string(text), err)
		}
		// It cannot read all of its own JSON.
		if want, err := yaml.Marshal(object); err == nil && got != string(want) {
			t.Errorf("%q: got %q, want %q", string(text), got, want)
		}
		var again map[string]any
		if err := yaml.Unmarshal([]byte(got), &again); err != nil || !reflect.DeepEqual(again, object) {
			t.Errorf("%q: %q is read as %v, error %v", string(text), got, again, err)
		}
	}
}

func BenchmarkYAML(b *testing.B) {
	object := parsed(b, deployment)
	for name, marshal := range map[string]func(map[string]any) error{
		"direct":     func(m map[string]any) error { _, err := marshalYAML(m); return err },
		"kubernetes": func(m map[string]any) error { _, err := yaml.Marshal(m); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := marshal(object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
