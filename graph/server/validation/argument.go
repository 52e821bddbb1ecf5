package validation

import (
	"regexp"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/kairship-io/kairship/graph/server/redact"
)

// ArgumentKey is the extension that names the input that is wrong.
const ArgumentKey = "argument"

// NameArguments sets the argument extension of validation errors, where the wrong input can be
// determined: it converts their locations in the document to the names that resolvers use too,
// "filter.kinds[0]".
func NameArguments(opCtx *graphql.OperationContext, tokenLimit int, errs gqlerror.List) {
	if opCtx == nil || opCtx.RawQuery == "" {
		return
	}
	doc := opCtx.Doc
	if doc == nil {
		// gqlgen drops a document that failed validation.
		parsed, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: opCtx.RawQuery}, tokenLimit)
		if err != nil {
			return
		}
		doc = parsed
	}
	inputs := inputsOf(doc)
	for _, err := range errs {
		if name := inputs.argument(err); name != "" {
			if err.Extensions == nil {
				err.Extensions = map[string]any{}
			}
			err.Extensions[ArgumentKey] = redact.Path(name)
		}
	}
}

// inputs are the places of a document where values stand.
type inputs struct {
	// at is the path of the argument that stands at a place.
	at map[gqlerror.Location]string
	// uses is the path of the first argument that a variable is used in.
	uses map[string]string
	// required is the same where the argument may not be null; only of documents that
	// were validated.
	required map[string]string
}

func inputsOf(doc *ast.QueryDocument) inputs {
	in := inputs{at: map[gqlerror.Location]string{}, uses: map[string]string{}, required: map[string]string{}}
	for _, op := range doc.Operations {
		for _, v := range op.VariableDefinitions {
			in.addValue("$"+v.Variable, v.DefaultValue)
		}
		in.addSelections(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		in.addSelections(f.SelectionSet)
	}
	return in
}

func (in inputs) addSelections(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			for _, arg := range sel.Arguments {
				in.addPlace(arg.Name, arg.Position)
				in.addValue(arg.Name, arg.Value)
			}
			in.addSelections(sel.SelectionSet)
		case *ast.InlineFragment:
			in.addSelections(sel.SelectionSet)
		}
	}
}

func (in inputs) addValue(path string, v *ast.Value) {
	if v == nil {
		return
	}
	in.addPlace(path, v.Position)
	if _, used := in.uses[v.Raw]; v.Kind == ast.Variable && !used {
		in.uses[v.Raw] = path
	}
	if _, known := in.required[v.Raw]; v.Kind == ast.Variable && !known && v.ExpectedType != nil && v.ExpectedType.NonNull {
		in.required[v.Raw] = path
	}
	for i, child := range v.Children {
		childPath := path + "[" + strconv.Itoa(i) + "]"
		if v.Kind == ast.ObjectValue {
			childPath = path + "." + child.Name
			in.addPlace(childPath, child.Position)
		}
		in.addValue(childPath, child.Value)
	}
}

func (in inputs) addPlace(path string, pos *ast.Position) {
	if pos != nil {
		in.at[gqlerror.Location{Line: pos.Line, Column: pos.Column}] = path
	}
}

// namedArgument finds the argument in the messages of the two rules that point
// at the field instead: KnownArgumentNames and ProvidedRequiredArguments.
var namedArgument = regexp.MustCompile(`(?:^Unknown argument|^Field "[^"]*" argument) "([^"]+)"`)

func (in inputs) argument(err *gqlerror.Error) string {
	if m := namedArgument.FindStringSubmatch(err.Message); m != nil {
		return m[1]
	}
	for _, loc := range err.Locations {
		if path, ok := in.at[loc]; ok {
			return path
		}
	}
	return ""
}

// argumentOf returns the input that a variable is wrong in: the place where it is used first, so
// that an input has one name however it is sent. For a variable without a value it returns the
// variable itself.
func (in inputs) argumentOf(wrong *wrongVariable) string {
	base, used := in.uses[wrong.variable]
	if !used || wrong.absent {
		base = "$" + wrong.variable
	}
	return base + wrong.path
}
