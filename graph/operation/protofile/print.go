package protofile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
)

// header begins the definition.
const header = `// The operations of Kairship, as gRPC, gRPC-Web and Connect have them (docs/grpc.md).
//
// Code generated from the .graphql files beside it and the schema. DO NOT EDIT.

syntax = "proto3";

package ` + Package + `;

import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";

option go_package = "github.com/kairship-io/kairship/api/v1/kairshipv1;kairshipv1";
`

// width is how long a line of a comment is.
const width = 120

// print is the text of the definition.
func (f *file) print(operations []*operation.Operation) string {
	var b strings.Builder
	b.WriteString(header)
	b.WriteString("\n// All operations. Each is the named operation of GraphQL that the file of its name has.\nservice " + Service + " {\n")
	for i, op := range operations {
		if i > 0 {
			b.WriteByte('\n')
		}
		printMethod(&b, op)
	}
	b.WriteString("}\n")
	for _, name := range slices.Sorted(maps.Keys(f.messages)) {
		f.printMessage(&b, f.messages[name])
	}
	for _, name := range slices.Sorted(maps.Keys(f.enums)) {
		f.printEnum(&b, f.enums[name])
	}
	return b.String()
}

func printMethod(b *strings.Builder, op *operation.Operation) {
	comment := op.Summary
	if op.Description != "" {
		comment += "\n\n" + op.Description
	}
	printComment(b, "  ", comment)
	stream, options := "", " {}"
	if op.Streams() {
		stream = "stream "
	}
	if op.Reads() {
		options = " {\n    option idempotency_level = NO_SIDE_EFFECTS;\n  }"
	}
	fmt.Fprintf(b, "  rpc %[1]s(%[1]s%[2]s) returns (%[3]s%[1]s%[4]s)%[5]s\n", op.Name, requestSuffix, stream, responseSuffix, options)
}

func (f *file) printMessage(b *strings.Builder, m *message) {
	b.WriteByte('\n')
	printComment(b, "", m.comment)
	b.WriteString("message " + m.name + " {\n")
	f.printReserved(b, "  ", m.name, snake, func(name string) bool { return m.fields[name] != nil })
	for _, of := range slices.SortedFunc(maps.Values(m.fields), func(a, b *field) int { return cmp.Compare(a.number, b.number) }) {
		printComment(b, "  ", of.comment)
		fmt.Fprintf(b, "  %s %s = %d", of.typ, of.name, of.number)
		if camel(of.name) != of.json {
			fmt.Fprintf(b, " [json_name = %q]", of.json)
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
}

func (f *file) printEnum(b *strings.Builder, def *ast.Definition) {
	b.WriteByte('\n')
	printComment(b, "", def.Description)
	b.WriteString("message " + def.Name + " {\n")
	printComment(b, "  ", "The values.")
	b.WriteString("  enum " + enumName + " {\n")
	name := def.Name + "." + enumName
	f.printReserved(b, "    ", name, func(s string) string { return s }, func(value string) bool { return def.EnumValues.ForName(value) != nil })
	printComment(b, "    ", "Not set.")
	b.WriteString("    " + unspecified + " = 0;\n")
	for _, value := range def.EnumValues {
		number, err := f.numbers.number(name, value.Name, "")
		if err != nil || value.Name == unspecified {
			f.refusef("%s cannot have the value %s: %w", def.Name, value.Name, err)
		}
		printComment(b, "    ", value.Description)
		fmt.Fprintf(b, "    %s = %d;\n", value.Name, number)
	}
	b.WriteString("  }\n}\n")
}

// printReserved keeps numbers and names from being used for something else.
func (f *file) printReserved(b *strings.Builder, indent, of string, written func(string) string, present func(string) bool) {
	for _, name := range f.numbers.removed(of, present) {
		fmt.Fprintf(b, "%[1]sreserved %[2]d;\n%[1]sreserved %[3]q;\n", indent, f.numbers[of][name].Number, written(name))
	}
}

// printComment breaks a text into lines.
func printComment(b *strings.Builder, indent, text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if line != "" && len(indent)+len(line)+len(word)+4 > width {
				b.WriteString(indent + "//" + line + "\n")
				line = ""
			}
			line += " " + word
		}
		if line != "" {
			b.WriteString(indent + "//" + line + "\n")
		}
		if !strings.HasSuffix(strings.TrimSpace(text), paragraph) {
			b.WriteString(indent + "//\n")
		}
	}
}

// snake is the name of a field: kubeSystemID is kube_system_id.
func snake(name string) string {
	name = strings.Trim(name, "_")
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if unicode.IsUpper(r) {
			afterWord := i > 0 && !unicode.IsUpper(letters[i-1])
			beforeWord := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if afterWord || beforeWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// camel is the name in JSON that a field has where nothing else is said.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for _, r := range name {
		switch {
		case r == '_':
			upper = true
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
