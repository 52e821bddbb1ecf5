package resolvers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// literals are texts of values of a type: one with everything in it, and one for
// each value of an enum.
func literals(schema *ast.Schema, of *ast.Type) []string {
	if of.Elem != nil {
		var all []string
		for _, one := range literals(schema, of.Elem) {
			all = append(all, "["+one+", "+one+"]")
		}
		return append(all, "[]")
	}
	def := schema.Types[of.Name()]
	switch {
	case def.Kind == ast.Enum:
		var all []string
		for _, v := range def.EnumValues {
			all = append(all, v.Name)
		}
		return all
	case def.Kind == ast.InputObject:
		// The n-th text has the n-th value of each field, as far as there are so many.
		var all []string
		for n, more := 0, true; more; n++ {
			var fields []string
			more = false
			for _, f := range def.Fields {
				values := literals(schema, f.Type)
				fields = append(fields, f.Name+": "+values[min(n, len(values)-1)])
				more = more || n+1 < len(values)
			}
			all = append(all, "{"+strings.Join(fields, ", ")+"}")
		}
		return all
	case def.Name == "Int":
		return []string{"3"}
	case def.Name == "Time":
		return []string{`"2026-01-31T12:00:00Z"`}
	case def.Name == "Boolean":
		return []string{"true", "false"}
	}
	return []string{`"té\"xt"`}
}

// asJSON is a literal as a client sends it in a variable.
func asJSON(literal string) string {
	var b strings.Builder
	inString := false
	word := ""
	flush := func(next byte) {
		if word == "" {
			return
		}
		if next == ':' || (word != "true" && word != "false" && word[0] > '9') {
			word = `"` + word + `"`
		}
		b.WriteString(word)
		word = ""
	}
	for i := range len(literal) {
		ch := literal[i]
		switch {
		case ch == '"' && (i == 0 || literal[i-1] != '\\'):
			inString = !inString
			b.WriteByte(ch)
		case inString:
			b.WriteByte(ch)
		case strings.IndexByte("{}[]:, ", ch) >= 0:
			flush(ch)
			b.WriteByte(ch)
		default:
			word += string(ch)
		}
	}
	flush(0)
	return b.String()
}

// What is read ahead has the arguments of the field itself, so they have to be read
// as gqlgen reads them: every argument of every list of an instance, with every
// value, in the query and in variables.
func TestArgumentsAreReadAsGqlgenReadsThem(t *testing.T) {
	schema := loadSchema(t)
	compared := 0
	for _, field := range schema.Types["Instance"].Fields {
		if !strings.HasSuffix(field.Type.Name(), "Connection") && field.Name != "workload" || notReadAhead[field.Name] {
			continue
		}
		for _, arg := range field.Arguments {
			if field.Name == "resources" && arg.Name == "namespace" || arg.Name == "after" {
				// Text, as others are.
				continue
			}
			for _, literal := range literals(schema, arg.Type) {
				for _, variable := range []bool{false, true} {
					compared++
					compareArgument(t, field, arg, literal, variable)
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d arguments were compared", compared)
	}
}

func compareArgument(t *testing.T, field *ast.FieldDefinition, arg *ast.ArgumentDefinition, literal string, variable bool) {
	t.Helper()
	args := []string{arg.Name + ": " + literal}
	head, variables := "", ""
	if variable {
		args[0] = arg.Name + ": $v"
		head, variables = "query($v: "+arg.Type.String()+")", `{"v": `+asJSON(literal)+`}`
		if !json.Valid([]byte(variables)) {
			t.Fatalf("%s is no JSON", variables)
		}
	}
	for _, other := range field.Arguments {
		if other != arg && other.Type.NonNull {
			args = append(args, other.Name+": "+map[string]string{"WorkloadKind": "JOB"}[other.Type.Name()])
			if other.Type.Name() == "String" {
				args[len(args)-1] = other.Name + `: "x"`
			}
		}
	}
	query := fmt.Sprintf(`%s{ instance(name: "alpha") { %s(%s) { __typename } } }`, head, field.Name, strings.Join(args, ", "))
	seen := false
	run(t, &Resolver{}, world().with(intercept{"Instance." + field.Name: func(ctx context.Context, fc *graphql.FieldContext) (any, error) {
		seen = true
		want := fc.Args[arg.Name]
		got := reflect.New(reflect.TypeOf(want))
		if !readArg(fc.Field.ArgumentMap(graphql.GetOperationContext(ctx).Variables), arg.Name, got.Interface()) {
			t.Errorf("%s: it can't be read", query)
			return nil, nil
		}
		if diff := cmp.Diff(want, got.Elem().Interface()); diff != "" {
			t.Errorf("%s (-gqlgen +read ahead):\n%s", query, diff)
		}
		return nil, nil
	}}), query, variables)
	if !seen {
		t.Errorf("%s: the field was not asked", query)
	}
}

// What is left out is nothing, and so is null; a direction that is left out is ascending.
func TestArgumentsThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct{ args, variables string }{
		{``, ""}, {`(orderBy: null, first: null)`, ""}, {`(orderBy: $o, first: $f)`, `{}`}, {`(orderBy: $o, first: $f)`, `{"o": null, "f": null}`},
		{`(orderBy: {field: NAME})`, ""}, {`(orderBy: $o)`, `{"o": {"field": "NAME"}}`},
	} {
		head := ""
		if strings.Contains(tt.args, "$o") {
			head = "query($o: WorkloadOrder, $f: Int)"
			if !strings.Contains(tt.args, "$f") {
				head = "query($o: WorkloadOrder)"
			}
		}
		run(t, &Resolver{}, world().with(intercept{"Instance.workloads": func(ctx context.Context, fc *graphql.FieldContext) (any, error) {
			raw := fc.Field.ArgumentMap(graphql.GetOperationContext(ctx).Variables)
			var order *workload.Order
			var first *int
			if !readArg(raw, "orderBy", &order) || !readArg(raw, "first", &first) {
				t.Errorf("%s: can't be read", tt.args)
			}
			if order != nil && order.Direction == "" {
				order.Direction = object.Ascending
			}
			if asked, _ := fc.Args["orderBy"].(*workload.Order); !cmp.Equal(order, asked) {
				t.Errorf("%s %s: order %+v, want %+v", tt.args, tt.variables, order, asked)
			}
			if want, _ := fc.Args["first"].(*int); !cmp.Equal(first, want) {
				t.Errorf("%s %s: first %v, want %v", tt.args, tt.variables, first, want)
			}
			return nil, nil
		}}), head+`{ instance(name: "alpha") { workloads`+tt.args+` { __typename } } }`, tt.variables)
	}
}

// What can't be read ahead is left to the field.
func TestArgumentsThatCannotBeRead(t *testing.T) {
	var n *int
	if readArg(map[string]any{"first": "three"}, "first", &n) || readArg(map[string]any{"first": func() {}}, "first", &n) {
		t.Error("what is no number was read as one")
	}
}

func TestInNamespace(t *testing.T) {
	shop := "shop"
	filter := &resource.Filter{NameContains: &shop}
	for _, tt := range []struct {
		name      string
		filter    *resource.Filter
		namespace *string
		want      *resource.Filter
		refused   bool
	}{
		{"neither", nil, nil, nil, false},
		{"a filter", filter, nil, filter, false},
		{"a namespace", nil, &shop, &resource.Filter{Namespaces: []string{"shop"}}, false},
		{"both", filter, &shop, &resource.Filter{Namespaces: []string{"shop"}, NameContains: &shop}, false},
		{"two ways to say it", &resource.Filter{Namespaces: []string{"shop"}}, &shop, nil, true},
		{"two ways to say it, one of nothing", &resource.Filter{Namespaces: []string{}}, &shop, nil, true},
	} {
		got, err := inNamespace(tt.filter, tt.namespace)
		if diff := cmp.Diff(tt.want, got); diff != "" || apierror.Is(err, apierror.CodeInvalid) != tt.refused {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	if filter.Namespaces != nil {
		t.Error("the caller's filter was changed")
	}
}
