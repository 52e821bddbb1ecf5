package rpc

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

// TestEncoding writes answers of every method, made at random, and reads of each what protojson does.
func TestEncoding(t *testing.T) {
	methods, all := kairshipv1.File_kairship_proto.Services().ByName("Kairship").Methods(), encodings{}
	source := rand.New(rand.NewPCG(1, 2)) // The values are the same each time.
	for i := range methods.Len() {
		output := methods.Get(i).Output()
		for range 10 {
			text, err := json.Marshal(random(source, output, 0))
			if err != nil {
				t.Fatal(err)
			}
			want, got := dynamicpb.NewMessage(output), dynamicpb.NewMessage(output)
			if err := protojson.Unmarshal(text, want); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			encoded, err := all.of(output).encode(nil, text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if err := proto.Unmarshal(encoded, got); err != nil || !proto.Equal(want, got) {
				t.Fatalf("%s is read as\n%v, not as\n%v: %v", text, got, want, err)
			}
		}
	}
	if methods.Len() < 140 {
		t.Errorf("only %d methods were tried", methods.Len())
	}
}

// random is an object as resolvers make it.
func random(source *rand.Rand, of protoreflect.MessageDescriptor, depth int) map[string]any {
	object := map[string]any{}
	for i := range of.Fields().Len() {
		field := of.Fields().Get(i)
		switch {
		case depth > 5 || source.IntN(8) == 0: // It is not selected.
		case source.IntN(8) == 0 && (!field.IsList() || field.Kind() != protoreflect.MessageKind): // protojson refuses lists of values that are null.
			object[field.JSONName()] = nil
		case field.IsList():
			list := make([]any, source.IntN(3))
			for j := range list {
				list[j] = randomValue(source, field, depth)
			}
			object[field.JSONName()] = list
		default:
			object[field.JSONName()] = randomValue(source, field, depth)
		}
	}
	return object
}

func randomValue(source *rand.Rand, of protoreflect.FieldDescriptor, depth int) any {
	one := func(values ...any) any { return values[source.IntN(len(values))] }
	switch of.Kind() {
	case protoreflect.BoolKind:
		return one(true, false)
	case protoreflect.Int32Kind:
		return one(0, 1, -1, 300, math.MaxInt32, math.MinInt32)
	case protoreflect.Int64Kind:
		return one(0, 7, int64(math.MaxInt64), int64(math.MinInt64))
	case protoreflect.DoubleKind:
		return one(0.0, -0.25, 1e300, 5e-324, 12345678)
	case protoreflect.EnumKind:
		return string(of.Enum().Values().Get(source.IntN(of.Enum().Values().Len())).Name())
	case protoreflect.MessageKind:
		switch of.Message().FullName() {
		case timestampName:
			return one("2026-02-28T23:59:59Z", "1969-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00.5+02:00")
		case valueName:
			return anything(source, depth)
		case structName:
			return map[string]any{"a": anything(source, depth), "": anything(source, depth)}
		}
		return random(source, of.Message(), depth+1)
	default:
		return one("", "frontend", "größer & <\"kleiner\">\n\t\\", "\u2028\U0001F600", strings.Repeat("long ", 100))
	}
}

// anything is any JSON.
func anything(source *rand.Rand, depth int) any {
	if depth > 5 {
		return nil
	}
	switch source.IntN(7) {
	case 0:
		return true
	case 1:
		return 0.5
	case 2:
		return "a \"text\""
	case 3:
		return []any{}
	case 4:
		return []any{nil, anything(source, depth+1), []any{1, "b"}}
	case 5:
		return map[string]any{"replicas": 3, "template": anything(source, depth+1), "a\"b": nil}
	default:
		return nil
	}
}

// TestEncodingRefuses reads what is no answer.
func TestEncodingRefuses(t *testing.T) {
	output := kairshipv1.File_kairship_proto.Services().ByName("Kairship").Methods().ByName("GetWorkload").Output()
	result := func(text string) string { return `{"result": {` + text + `}}` }
	for name, text := range map[string]string{
		"nothing":                   ``,
		"no object":                 `[]`,
		"a part of an object":       `{"result": {"name": "a"`,
		"another field":             result(`"other": 1`),
		"a number for a text":       result(`"name": 1`),
		"a text for an object":      result(`"replicas": "1"`),
		"an object for a list":      result(`"images": {}`),
		"null in a list":            result(`"images": [null]`),
		"a number that is too high": result(`"replicas": {"desired": 2147483648}`),
		"a part of a number":        result(`"replicas": {"desired": 1.5}`),
		"a text for a number":       result(`"replicas": {"desired": "1"}`),
		"a text for a boolean":      result(`"deleting": "true"`),
		"no value of an enum":       result(`"health": "FINE"`),
		"no time":                   result(`"createdAt": "today"`),
		"a text that is no UTF-8":   result("\"name\": \"\xff\""),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := (encodings{}).of(output).encode(nil, []byte(text)); err == nil {
				t.Errorf("%s is %x", text, got)
			}
		})
	}
	if _, err := (encodings{}).of(output).encode(nil, []byte(result(`"name": "a", "images": ["b"], "replicas": {"desired": 1}, "deleting": true, "health": "HEALTHY", "createdAt": "2026-01-01T00:00:00Z"`))); err != nil {
		t.Errorf("the fields are there otherwise: %v", err)
	}
}
