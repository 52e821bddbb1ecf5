package policy

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// notInSchema lists the Go fields, as "GraphQLType.jsonField", that the schema
// leaves out on purpose, with the reason. There is none: a person must be able
// to see all that a policy says.
var notInSchema = map[string]string{}

// definitions parses the schema and gives its definitions by name. It is not
// validated here: the generator does that, with the definitions it adds itself.
func definitions(t *testing.T) map[string]*ast.Definition {
	t.Helper()
	files, err := filepath.Glob("../../../graph/schema/*.graphqls")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schema files found: %v", err)
	}
	out := map[string]*ast.Definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parser.ParseSchema(&ast.Source{Name: file, Input: string(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, def := range doc.Definitions {
			out[def.Name] = def
		}
	}
	return out
}

// walker compares Go types with GraphQL types and notes what differs.
type walker struct {
	definitions map[string]*ast.Definition
	seen        map[string]reflect.Type
	excluded    map[string]bool
	problems    []string
}

func (w *walker) problem(where, text string) { w.problems = append(w.problems, where+": "+text) }

// object compares a struct with the GraphQL type that is to show it.
func (w *walker) object(goType reflect.Type, name string) {
	if before, ok := w.seen[name]; ok {
		if before != goType {
			w.problem(name, "shows both "+before.String()+" and "+goType.String())
		}
		return
	}
	w.seen[name] = goType
	def := w.definitions[name]
	if def == nil || def.Kind != ast.Object {
		w.problem(name, "is no object type of the schema")
		return
	}
	if model := modelOf(def); model != goType.PkgPath()+"."+goType.Name() {
		w.problem(name, "is bound to "+model+" and shows "+goType.PkgPath()+"."+goType.Name())
	}
	fields := w.fields(goType)
	for _, jsonName := range slices.Sorted(maps.Keys(fields)) {
		where := name + "." + jsonName
		field := def.Fields.ForName(jsonName)
		_, excluded := notInSchema[where]
		switch {
		case excluded:
			w.excluded[where] = true
			if field != nil {
				w.problem(where, "is excluded and in the schema")
			}
		case field == nil:
			w.problem(where, "Karmada has it and the schema has not")
		default:
			w.value(fields[jsonName], field.Type, where)
			if goName := fields[jsonName].Name; !strings.EqualFold(goName, jsonName) && goNameOf(field) != goName {
				w.problem(where, "needs @goField(name: \""+goName+"\")")
			}
		}
	}
	for _, field := range def.Fields {
		if _, ok := fields[field.Name]; !ok {
			w.problem(name+"."+field.Name, "the schema has it and Karmada has not")
		}
	}
}

// fields gives a struct's fields by JSON name, those of inlined structs included.
func (w *walker) fields(goType reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for field := range goType.Fields() {
		jsonName, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && strings.Contains(options, "inline"):
			maps.Copy(out, w.fields(field.Type))
		case jsonName == "" || jsonName == "-":
			w.problem(goType.String()+"."+field.Name, "has no JSON name")
		default:
			out[jsonName] = field
		}
	}
	return out
}

// value compares the type of a field.
func (w *walker) value(field reflect.StructField, gql *ast.Type, where string) {
	goType := field.Type
	nullable := goType.Kind() == reflect.Pointer
	if nullable {
		goType = goType.Elem()
	}
	var want string
	switch {
	case goType == reflect.TypeFor[apiextensionsv1.JSON]():
		want, nullable = "JSON", true
	case goType.Kind() == reflect.Struct:
		want = gql.Name()
		w.object(goType, gql.Name())
	case goType.Kind() == reflect.Map && goType.Elem().Kind() == reflect.String:
		want = "[Label!]"
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Struct:
		want = "[" + gql.Name() + "!]"
		w.object(goType.Elem(), gql.Name())
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.String:
		want = "[String!]"
	case goType.Kind() == reflect.String && goType.PkgPath() != "":
		// An enum that Karmada may leave out is null then: no enum has an empty value.
		want, nullable = gql.Name(), strings.Contains(field.Tag.Get("json"), "omitempty")
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
		w.problem(where, "nothing says how to show a "+goType.String())
		return
	}
	if !nullable {
		want += "!"
	}
	if gql.String() != want {
		w.problem(where, "is "+gql.String()+" and "+goType.String()+" asks for "+want)
	}
}

func modelOf(def *ast.Definition) string {
	return argument(def.Directives.ForName("goModel"), "model")
}

func goNameOf(field *ast.FieldDefinition) string {
	return argument(field.Directives.ForName("goField"), "name")
}

func argument(directive *ast.Directive, name string) string {
	if directive == nil || directive.Arguments.ForName(name) == nil {
		return ""
	}
	return directive.Arguments.ForName(name).Value.Raw
}

func TestSchemaShowsWholeSpecs(t *testing.T) {
	w := &walker{definitions: definitions(t), seen: map[string]reflect.Type{}, excluded: map[string]bool{}}
	w.object(reflect.TypeFor[policyv1alpha1.PropagationSpec](), "PropagationSpec")
	w.object(reflect.TypeFor[policyv1alpha1.OverrideSpec](), "OverrideSpec")
	for where := range notInSchema {
		if !w.excluded[where] {
			w.problem(where, "is excluded, and Karmada has no such field")
		}
	}
	for _, problem := range w.problems {
		t.Error(problem)
	}
	// The specs reach 38 types; far fewer would mean that the walk stopped early.
	t.Logf("%d types compared", len(w.seen))
	if len(w.seen) < 30 {
		t.Errorf("only %d types were compared", len(w.seen))
	}
}

// TestWalkerNoticesDifferences guards the guard: each difference that it is there to find is found.
func TestWalkerNoticesDifferences(t *testing.T) {
	type inner struct {
		Kept string `json:"kept"`
	}
	type outer struct {
		Missing string                     `json:"missing"`
		Flag    *bool                      `json:"flag,omitempty"`
		Long    int64                      `json:"long"`
		Renamed string                     `json:"other"`
		Mode    policyv1alpha1.PurgeMode   `json:"mode,omitempty"`
		Inner   inner                      `json:"inner"`
		Labels  map[string]string          `json:"labels"`
		Chan    chan int                   `json:"chan"`
		Value   apiextensionsv1.JSON       `json:"value"`
		Same    policyv1alpha1.Suspension  `json:"same"`
		Twice   *policyv1alpha1.Suspension `json:"twice"`
	}
	doc, err := parser.ParseSchema(&ast.Source{Input: `
		type Outer { flag: Boolean! long: Int! other: String! mode: String inner: Gone! labels: [String!]!
			chan: String value: String same: S! twice: S surplus: Int }
		type S @goModel(model: "elsewhere.S") { dispatching: Boolean }`})
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{definitions: map[string]*ast.Definition{}, seen: map[string]reflect.Type{}, excluded: map[string]bool{}}
	for _, def := range doc.Definitions {
		w.definitions[def.Name] = def
	}
	w.object(reflect.TypeFor[outer](), "Outer")
	all := strings.Join(w.problems, "\n")
	for _, want := range []string{
		"Outer: is bound to",
		"Outer.missing: Karmada has it",
		"Outer.flag: is Boolean!",
		"Outer.long: is Int! and int64 asks for Int64!",
		`Outer.other: needs @goField(name: "Renamed")`,
		"Outer.mode: String is not an enum",
		"Gone: is no object type",
		"Outer.labels: is [String!]! and map[string]string asks for [Label!]!",
		"Outer.chan: nothing says how to show a chan int",
		"Outer.value: is String and v1.JSON asks for JSON",
		"S: is bound to elsewhere.S",
		"S.dispatchingOnClusters: Karmada has it",
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

// TestPolicySchemaIsDocumented: the policies' part of the schema explains every type, field, argument and value.
func TestPolicySchemaIsDocumented(t *testing.T) {
	count := 0
	for name, def := range definitions(t) {
		switch filepath.Base(def.Position.Src.Name) {
		case "policy.graphqls", "propagationspec.graphqls", "failover.graphqls", "overridespec.graphqls",
			"policymutation.graphqls", "propagationinput.graphqls", "failoverinput.graphqls", "overrideinput.graphqls":
		default:
			continue
		}
		count++
		if def.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for _, field := range def.Fields {
			if field.Description == "" {
				t.Errorf("%s.%s has no description", name, field.Name)
			}
			for _, arg := range field.Arguments {
				if arg.Description == "" {
					t.Errorf("%s.%s(%s:) has no description", name, field.Name, arg.Name)
				}
			}
		}
		for _, value := range def.EnumValues {
			if value.Description == "" {
				t.Errorf("%s.%s has no description", name, value.Name)
			}
		}
	}
	if count == 0 {
		t.Error("no definitions were looked at")
	}
}
