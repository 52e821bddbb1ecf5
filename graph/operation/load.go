package operation

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// Prefix is what all paths begin with.
const Prefix = "/api/v1/"

// Load reads and checks all operations of a folder, sorted by path and method.
func Load(files fs.FS, schema *ast.Schema) ([]*Operation, error) {
	names, err := fs.Glob(files, "*/*.graphql")
	if err != nil {
		return nil, err
	}
	var all []*Operation
	var wrong []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		op, err := parse(name, string(text), schema)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		all = append(all, op)
	}
	slices.SortFunc(all, func(a, b *Operation) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return all, errors.Join(append(wrong, distinct(all)...)...)
}

// distinct returns an error for each name, and each method and path, that two operations have.
func distinct(all []*Operation) (wrong []error) {
	seen := map[string]string{}
	for _, op := range all {
		for _, key := range []string{op.Name, op.Method + " " + shapeOf(op.Path)} {
			if other, twice := seen[key]; twice {
				wrong = append(wrong, fmt.Errorf("%s and %s are both %s", other, op.Name, key))
			}
			seen[key] = op.Name
		}
	}
	return wrong
}

// shapeOf is a path without the names of its variables.
func shapeOf(of string) string { return inBraces.ReplaceAllString(of, "{}") }

var (
	inBraces    = regexp.MustCompile(`\{([a-zA-Z]+)\}`)
	segment     = regexp.MustCompile(`^([a-z-]+|\{[a-zA-Z]+\}(:[a-zA-Z]+)?|[a-z-]+:[a-zA-Z]+)$`)
	methods     = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	stabilities = []Stability{Stable, Beta}
)

// variablesOf are the variables in a path.
func variablesOf(of string) (names []string) {
	for _, found := range inBraces.FindAllStringSubmatch(of, -1) {
		names = append(names, found[1])
	}
	return names
}

func hasBody(method string) bool { return method != http.MethodGet && method != http.MethodDelete }

func parse(file, text string, schema *ast.Schema) (*Operation, error) {
	doc, errs := gqlparser.LoadQueryWithRules(schema, text, rules.NewDefaultRules())
	if len(errs) > 0 {
		return nil, errs
	}
	if len(doc.Operations) != 1 {
		return nil, fmt.Errorf("has %d operations: a file has one", len(doc.Operations))
	}
	op := &Operation{Name: doc.Operations[0].Name, Noun: path.Dir(file), Document: text, Definition: doc.Operations[0]}
	if want := strings.TrimSuffix(path.Base(file), ".graphql"); op.Name != want {
		return nil, fmt.Errorf("has the operation %q: name it %s, as the file", op.Name, want)
	}
	if err := op.readComment(); err != nil {
		return nil, err
	}
	return op, errors.Join(op.checkPath(), op.findResult())
}

// readComment reads what stands above the operation.
func (o *Operation) readComment() error {
	var paragraphs []string
	var open bool // The last paragraph goes on.
	for line := range strings.Lines(o.Document) {
		text, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !isComment {
			break
		}
		text = strings.TrimSpace(text)
		name, value, isSetting := strings.Cut(text, ": ")
		switch {
		case isSetting && name == "http":
			o.Method, o.Path, _ = strings.Cut(value, " ")
			open = false
		case isSetting && name == "stability":
			o.Stability = Stability(value)
			open = false
		case text == "":
			open = false
		case open:
			paragraphs[len(paragraphs)-1] += " " + text
		default:
			paragraphs, open = append(paragraphs, text), true
		}
	}
	switch {
	case len(paragraphs) == 0:
		return errors.New("begins with no comment: say in a sentence what it does")
	case !slices.Contains(methods, o.Method):
		return fmt.Errorf("has no line \"# http: METHOD /path\" with one of %s", strings.Join(methods, ", "))
	case !slices.Contains(stabilities, o.Stability):
		return errors.New("has no line \"# stability: stable\" or \"# stability: beta\"")
	}
	o.Summary, o.Description = paragraphs[0], strings.Join(paragraphs[1:], "\n\n")
	return nil
}

// checkPath refuses a path or a method that does not fit the operation.
func (o *Operation) checkPath() error {
	rest, ok := strings.CutPrefix(o.Path, Prefix)
	if !ok {
		return fmt.Errorf("the path %s does not begin with %s", o.Path, Prefix)
	}
	for part := range strings.SplitSeq(rest, "/") {
		if !segment.MatchString(part) {
			return fmt.Errorf("the path %s has the segment %q: write words, {variable} or {variable}:verb", o.Path, part)
		}
	}
	switch {
	case !o.Reads() && o.Method == http.MethodGet:
		return errors.New("a mutation has another method than GET")
	case o.Streams() && o.Method != http.MethodGet, o.Reads() && o.Method != http.MethodGet && o.Method != http.MethodPost:
		return fmt.Errorf("the method of a %s is GET, or POST for a query with a large input", o.Definition.Operation)
	}
	for _, name := range variablesOf(o.Path) {
		v := o.Definition.VariableDefinitions.ForName(name)
		if v == nil || v.Type.Elem != nil || !v.Type.NonNull {
			return fmt.Errorf("the path has {%s}, which is no variable of a single value that is required", name)
		}
	}
	return nil
}

// findResult finds the object that is the answer.
func (o *Operation) findResult() error {
	set := o.Definition.SelectionSet
	for len(set) == 1 {
		field, ok := set[0].(*ast.Field)
		if !ok || len(field.SelectionSet) == 0 {
			break
		}
		if field.Definition.Type.Elem != nil {
			return fmt.Errorf("the answer would be the list %s: select a second field beside it", field.Alias)
		}
		o.Result, set = append(o.Result, field.Alias), field.SelectionSet
	}
	if len(o.Result) == 0 {
		return errors.New("selects several fields of the root: select one")
	}
	o.Versioned = slices.ContainsFunc(set, func(s ast.Selection) bool {
		field, ok := s.(*ast.Field)
		return ok && field.Alias == Version
	})
	return nil
}
