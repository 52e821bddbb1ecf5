package subscription

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// The names by which subscriptions of the schema can be resumed: the field of an
// event, and the argument of the subscription that takes its value back.
const (
	cursorField   = "cursor"
	afterArgument = "after"
)

// eventIDs finds the cursor in the results of a subscription: it is the id under
// which they are sent as server-sent events. A subscription that selects no
// cursor has no ids.
type eventIDs struct {
	root, cursor string
	// several: it is selected more than once, under different names.
	several bool
}

func idsOf(op *graphql.OperationContext) eventIDs {
	ids := eventIDs{}
	for _, root := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"}) {
		if root.Definition == nil {
			continue
		}
		for _, field := range graphql.CollectFields(op, root.Selections, []string{root.Definition.Type.Name()}) {
			switch {
			case field.Name != cursorField:
			case ids.cursor != "":
				ids.several = true
			default:
				ids.root, ids.cursor = root.Alias, field.Alias
			}
		}
	}
	return ids
}

// of returns the id of a result; empty where it has none.
func (ids eventIDs) of(data []byte) string {
	if ids.cursor == "" {
		return ""
	}
	from, to, ok := ids.locate(data)
	if !ok {
		return ""
	}
	var id string
	if json.Unmarshal(data[from:to], &id) != nil || strings.ContainsAny(id, "\x00\r\n") {
		return ""
	}
	return id
}

// locate finds the cursor in a result.
func (ids eventIDs) locate(data []byte) (from, to int, ok bool) {
	begin, end, ok := member(data, ids.root)
	if !ok {
		return 0, 0, false
	}
	from, to, ok = member(data[begin:end], ids.cursor)
	return begin + from, begin + to, ok
}

// member finds the value of a member of a JSON object. It does not decode what it
// passes: events are large, and what is sought is one short text near their
// beginning. What it is given is valid, because gqlgen wrote it; of anything else
// it finds nothing, or something.
func member(object []byte, name string) (from, to int, ok bool) {
	i := skipSpace(object, 0)
	if i >= len(object) || object[i] != '{' {
		return 0, 0, false
	}
	for i++; ; i++ {
		i = skipSpace(object, i)
		if i >= len(object) || object[i] != '"' {
			return 0, 0, false
		}
		end := skipValue(object, i)
		key := object[i:end]
		i = skipSpace(object, end)
		if i >= len(object) || object[i] != ':' {
			return 0, 0, false
		}
		i = skipSpace(object, i+1)
		end = skipValue(object, i)
		// Names of GraphQL need no escapes.
		if len(key) == len(name)+2 && string(key[1:len(key)-1]) == name {
			return i, end, true
		}
		i = skipSpace(object, end)
		if i >= len(object) || object[i] != ',' {
			return 0, 0, false
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at i ends.
func skipValue(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return min(i+1, len(b))
		}
	}
	return len(b)
}

// ResumeAfter has a subscription begin after an event, whatever its document says:
// a browser that connects again sends the same request, and with it only the id of
// the last event that it got. The document is shared and is not changed.
func ResumeAfter(op *graphql.OperationContext, id string) {
	resumed := *op.Operation
	resumed.SelectionSet = selectionsAfter(op.Operation.SelectionSet, id)
	op.Operation = &resumed
}

func selectionsAfter(set ast.SelectionSet, id string) ast.SelectionSet {
	out := make(ast.SelectionSet, len(set))
	for i, selection := range set {
		switch sel := selection.(type) {
		case *ast.Field:
			out[i] = fieldAfter(sel, id)
		case *ast.InlineFragment:
			fragment := *sel
			fragment.SelectionSet = selectionsAfter(sel.SelectionSet, id)
			out[i] = &fragment
		case *ast.FragmentSpread:
			out[i] = &ast.InlineFragment{
				TypeCondition: sel.Definition.TypeCondition, Directives: sel.Directives,
				SelectionSet: selectionsAfter(sel.Definition.SelectionSet, id), ObjectDefinition: sel.ObjectDefinition, Position: sel.Position,
			}
		default:
			out[i] = selection
		}
	}
	return out
}

func fieldAfter(f *ast.Field, id string) ast.Selection {
	if f.Definition == nil || f.Definition.Arguments.ForName(afterArgument) == nil {
		return f
	}
	resumed := *f
	resumed.Arguments = slices.DeleteFunc(slices.Clone(f.Arguments), func(a *ast.Argument) bool { return a.Name == afterArgument })
	resumed.Arguments = append(resumed.Arguments, &ast.Argument{
		Name: afterArgument, Value: &ast.Value{Raw: id, Kind: ast.StringValue, Position: f.Position}, Position: f.Position,
	})
	return &resumed
}
