package policy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// optionalAnyway are fields that Karmada's types always write and that an input may omit anyway,
// with the reason.
var optionalAnyway = map[string]string{
	"OverrideSpecInput.overriders": "it is deprecated, and deprecated fields are optional",
}

// input compares a struct with the GraphQL input that fills it. It is named as
// the type that shows the struct, with Input behind it.
func (w *walker) input(goType reflect.Type, name string) {
	if before, ok := w.seen[name]; ok {
		if before != goType {
			w.problem(name, "fills both "+before.String()+" and "+goType.String())
		}
		return
	}
	w.seen[name] = goType
	def := w.definitions[name]
	if def == nil || def.Kind != ast.InputObject {
		w.problem(name, "is no input of the schema")
		return
	}
	if model := modelOf(def); model != goType.PkgPath()+"."+goType.Name() {
		w.problem(name, "is bound to "+model+" and fills "+goType.PkgPath()+"."+goType.Name())
	}
	fields := w.fields(goType)
	for _, jsonName := range slices.Sorted(maps.Keys(fields)) {
		where := name + "." + jsonName
		field := def.Fields.ForName(jsonName)
		if field == nil {
			w.problem(where, "Karmada has it and the schema has not")
			continue
		}
		w.inputValue(fields[jsonName], field.Type, where)
		if goName := fields[jsonName].Name; !strings.EqualFold(goName, jsonName) && goNameOf(field) != goName {
			w.problem(where, "needs @goField(name: \""+goName+"\")")
		}
	}
	for _, field := range def.Fields {
		if _, ok := fields[field.Name]; !ok {
			w.problem(name+"."+field.Name, "the schema has it and Karmada has not")
		}
	}
}

// inputValue compares the type of a field. Fields that Karmada omits when they are empty may be
// omitted from the input; all others are required.
func (w *walker) inputValue(field reflect.StructField, gql *ast.Type, where string) {
	goType, required := field.Type, !strings.Contains(field.Tag.Get("json"), "omitempty")
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if _, optional := optionalAnyway[where]; optional {
		w.excluded[where] = true
		required = false
	}
	var want string
	switch {
	case goType == reflect.TypeFor[apiextensionsv1.JSON]():
		want = "JSON"
	case goType.Kind() == reflect.Struct:
		want = gql.Name()
		w.input(goType, gql.Name())
	case goType.Kind() == reflect.Map && goType.Elem().Kind() == reflect.String:
		want = "[LabelInput!]"
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Struct:
		want = "[" + gql.Name() + "!]"
		w.input(goType.Elem(), gql.Name())
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.String:
		want = "[String!]"
	case goType.Kind() == reflect.String && goType.PkgPath() != "":
		want = gql.Name()
		if def := w.definitions[want]; def == nil || def.Kind != ast.Enum {
			w.problem(where, want+" is not an enum, and "+goType.String()+" is")
		} else if modelOf(def) != reflect.TypeFor[Policy]().PkgPath()+"."+want {
			w.problem(want, "is not bound to the functions of this package")
		}
	case goType.Kind() == reflect.String:
		want = "String"
	case goType.Kind() == reflect.Bool:
		want = "Boolean"
	case goType.Kind() == reflect.Int, goType.Kind() == reflect.Int32:
		want = "Int"
	case goType.Kind() == reflect.Int64:
		want = "Int64"
	default:
		w.problem(where, "nothing says how to read a "+goType.String())
		return
	}
	if required {
		want += "!"
	}
	if gql.String() != want {
		w.problem(where, "is "+gql.String()+" and "+goType.String()+" asks for "+want)
	}
}

func TestInputsTakeWholeSpecs(t *testing.T) {
	w := &walker{definitions: definitions(t), seen: map[string]reflect.Type{}, excluded: map[string]bool{}}
	w.input(reflect.TypeFor[policyv1alpha1.PropagationSpec](), "PropagationSpecInput")
	w.input(reflect.TypeFor[policyv1alpha1.OverrideSpec](), "OverrideSpecInput")
	for where := range optionalAnyway {
		if !w.excluded[where] {
			w.problem(where, "is optional anyway, and Karmada has no such field")
		}
	}
	for _, problem := range w.problems {
		t.Error(problem)
	}
	shown := &walker{definitions: definitions(t), seen: map[string]reflect.Type{}, excluded: map[string]bool{}}
	shown.object(reflect.TypeFor[policyv1alpha1.PropagationSpec](), "PropagationSpec")
	shown.object(reflect.TypeFor[policyv1alpha1.OverrideSpec](), "OverrideSpec")
	for name, goType := range shown.seen {
		if w.seen[name+"Input"] != goType {
			t.Errorf("%s is shown, and nothing named %sInput fills %s", name, name, goType)
		}
	}
	if len(w.seen) != len(shown.seen) {
		t.Errorf("%d types are shown and %d filled", len(shown.seen), len(w.seen))
	}
}

// TestInputWalkerNoticesDifferences guards the guard.
func TestInputWalkerNoticesDifferences(t *testing.T) {
	type inner struct {
		Kept string `json:"kept"`
	}
	type outer struct {
		Missing string                   `json:"missing,omitempty"`
		Needed  string                   `json:"needed"`
		Free    *bool                    `json:"free,omitempty"`
		Long    int64                    `json:"long"`
		Renamed string                   `json:"other"`
		Mode    policyv1alpha1.PurgeMode `json:"mode,omitempty"`
		Inner   inner                    `json:"inner"`
		Labels  map[string]string        `json:"labels"`
		Chan    chan int                 `json:"chan"`
	}
	doc, err := parser.ParseSchema(&ast.Source{Input: `
		input Outer { needed: String free: Boolean! long: Int! other: String! mode: String inner: Gone! labels: [String!]!
			chan: String surplus: Int }`})
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{definitions: map[string]*ast.Definition{}, seen: map[string]reflect.Type{}, excluded: map[string]bool{}}
	for _, def := range doc.Definitions {
		w.definitions[def.Name] = def
	}
	w.input(reflect.TypeFor[outer](), "Outer")
	all := strings.Join(w.problems, "\n")
	for _, want := range []string{
		"Outer: is bound to",
		"Outer.missing: Karmada has it",
		"Outer.needed: is String and string asks for String!",
		"Outer.free: is Boolean! and bool asks for Boolean",
		"Outer.long: is Int! and int64 asks for Int64!",
		`Outer.other: needs @goField(name: "Renamed")`,
		"Outer.mode: String is not an enum",
		"Gone: is no input",
		"Outer.labels: is [String!]! and map[string]string asks for [LabelInput!]!",
		"Outer.chan: nothing says how to read a chan int",
		"Outer.surplus: the schema has it",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not noticed: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("noticed:\n%s", all)
	}
}
