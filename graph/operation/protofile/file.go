package protofile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
)

// The names that all methods are under.
const (
	Package = "kairship.v1"
	Service = "Kairship"
)

// The names of what every operation has a message of its own for, and of the fields of its answer.
const (
	requestSuffix  = "Request"
	responseSuffix = "Response"
	failure        = "Failure"
	// enumName is the name of an enum in the message that has the name of its type. So its values need no prefix, and are
	// written in JSON as in GraphQL.
	enumName = "Value"
	// unspecified is the value of an enum that is not set.
	unspecified = "UNSPECIFIED"
)

// The types of fields that are no messages of ours.
const (
	typeString = "string"
	typeBool   = "bool"
	typeTime   = "google.protobuf.Timestamp"
	typeAny    = "google.protobuf.Value"
	typeObject = "google.protobuf.Struct"
)

// field is a field of a message.
type field struct {
	// json is the name in JSON, as in GraphQL; name is that of the definition.
	json, name string
	// typ has its label.
	typ, comment string
	number       int
}

// message is a message with fields.
type message struct {
	name, comment string
	fields        map[string]*field
}

// file is a definition.
type file struct {
	schema   *ast.Schema
	numbers  Numbers
	messages map[string]*message
	enums    map[string]*ast.Definition
	wrong    []error
}

// Of writes the definition of operations, and adds to the numbers what is new.
func Of(operations []*operation.Operation, schema *ast.Schema, numbers Numbers) (string, error) {
	f := &file{schema: schema, numbers: numbers, messages: map[string]*message{}, enums: map[string]*ast.Definition{}}
	f.addFailure()
	methods := map[string]string{}
	sorted := slices.SortedFunc(slices.Values(operations), func(a, b *operation.Operation) int {
		return cmp.Or(cmp.Compare(a.Noun, b.Noun), cmp.Compare(a.Name, b.Name))
	})
	for _, op := range sorted {
		f.addOperation(op)
		methods[op.Name] = "unary"
		if op.Streams() {
			methods[op.Name] = "server stream"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.enums)) {
		if f.messages[name] != nil {
			f.refusef("%s is a message and an enum", name)
		}
	}
	if err := errors.Join(append(f.wrong, numbers.methods(Service, methods))...); err != nil {
		return "", err
	}
	text := f.print(sorted)
	return text, errors.Join(f.wrong...)
}

func (f *file) refusef(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Errorf(format, args...))
}

// addOperation adds what an operation takes and answers.
func (f *file) addOperation(op *operation.Operation) {
	request := f.newMessage(op.Name+requestSuffix, "The variables of "+op.Name+".")
	for _, v := range op.Definition.VariableDefinitions {
		comment := op.Described(v.Variable)
		f.add(request, v.Variable, f.input(v.Type), required(comment, v.Type.NonNull && v.DefaultValue == nil && v.Type.Elem == nil))
	}
	answer := op.Answer()
	response := f.newMessage(op.Name+responseSuffix, "The answer of "+op.Name+".")
	name := answer.Definition.Type.Name()
	f.add(response, ResultField, name, "The object; it has the fields that "+op.Noun+"/"+op.Name+".graphql selects.")
	f.add(response, ErrorsField, "repeated "+failure, "What is missing in the object, and why; empty where nothing is.")
	f.add(response, ExtensionsField, typeObject, "What the answer has beside its data, such as warnings.")
	f.selected(name, answer.SelectionSet)
}

// The fields of every answer.
const (
	ResultField     = "result"
	ErrorsField     = "errors"
	ExtensionsField = "extensions"
)

// addFailure adds the message of errors.
func (f *file) addFailure() {
	m := f.newMessage(failure, "What is missing in an answer, and why.")
	f.add(m, "message", typeString, "What was wrong, where, and what to do.")
	f.add(m, "code", typeString, "The kind of the failure, for programs, as docs/graphql.md lists them.")
	f.add(m, "path", "repeated "+typeAny, "Where in the result of the operation it happened.")
	f.add(m, "more", typeObject, "What else is known, such as `argument`, `instance` and `traceId`.")
}

func (f *file) newMessage(name, comment string) *message {
	if f.messages[name] != nil {
		f.refusef("there are two messages %s", name)
	}
	m := &message{name: name, comment: comment, fields: map[string]*field{}}
	f.messages[name] = m
	return m
}

// add adds a field to a message, which may have it already.
func (f *file) add(m *message, jsonName, typ, comment string) {
	if had := m.fields[jsonName]; had != nil {
		if had.typ != typ {
			f.refusef("%s.%s is both %s and %s: give one of them an alias", m.name, jsonName, had.typ, typ)
		}
		return
	}
	number, err := f.numbers.number(m.name, jsonName, typ)
	if err != nil {
		f.wrong = append(f.wrong, err)
	}
	m.fields[jsonName] = &field{json: jsonName, name: snake(jsonName), typ: typ, comment: comment, number: number}
}

// selected adds the fields of a selection to the message of its type.
func (f *file) selected(typeName string, set ast.SelectionSet) {
	m := f.messages[typeName]
	if m == nil {
		m = f.newMessage(typeName, f.schema.Types[typeName].Description)
	}
	for _, selection := range set {
		switch sel := selection.(type) {
		case *ast.Field:
			f.selectedField(m, sel)
		case *ast.InlineFragment:
			f.selected(typeName, sel.SelectionSet)
		case *ast.FragmentSpread:
			f.selected(typeName, sel.Definition.SelectionSet)
		}
	}
}

func (f *file) selectedField(m *message, sel *ast.Field) {
	if sel.Name == "__typename" {
		f.add(m, sel.Alias, "optional "+typeString, "The name of the object's type.")
		return
	}
	of := sel.Definition.Type
	if of.Elem != nil && (of.Elem.Elem != nil || !of.Elem.NonNull) {
		f.refusef("%s.%s is a list of lists or of nulls, which messages cannot have", m.name, sel.Alias)
	}
	f.add(m, sel.Alias, f.labelled(of), sel.Definition.Description)
	if len(sel.SelectionSet) > 0 {
		f.selected(of.Name(), sel.SelectionSet)
	}
}

// input is the type of a variable or of a field of an input, which is added too.
func (f *file) input(of *ast.Type) string {
	def := f.schema.Types[of.Name()]
	if def.Kind == ast.InputObject && f.messages[def.Name] == nil {
		m := f.newMessage(def.Name, def.Description) // First, because it may have fields of its own type.
		for _, member := range def.Fields {
			f.add(m, member.Name, f.input(member.Type), required(member.Description, member.Type.NonNull && member.DefaultValue == nil && member.Type.Elem == nil))
		}
	}
	if of.Elem != nil && of.Elem.Elem != nil {
		f.refusef("an input is a list of lists of %s, which messages cannot have", def.Name)
	}
	return f.labelled(of)
}

// labelled is a type with its label. Every single scalar is optional, so that one which is not set differs from zero.
func (f *file) labelled(of *ast.Type) string {
	def := f.schema.Types[of.Name()]
	name, scalar := scalars[def.Name]
	switch {
	case def.Kind == ast.Enum:
		f.enums[def.Name] = def
		name = def.Name + "." + enumName
	case def.IsLeafType() && !scalar:
		name, scalar = typeString, true
	case !def.IsLeafType():
		name = def.Name
	}
	switch {
	case of.Elem != nil:
		return "repeated " + name
	case scalar && !strings.HasPrefix(name, "google."):
		return "optional " + name
	}
	return name
}

// scalars are the types of scalars that are no strings.
var scalars = map[string]string{
	"Int": "int32", "Int64": "int64", "Float": "double", "Boolean": typeBool, "Time": typeTime, "JSON": typeAny,
}

func required(comment string, is bool) string {
	if !is {
		return comment
	}
	return strings.TrimSpace(comment + " Required.")
}
