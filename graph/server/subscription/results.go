package subscription

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
)

// Subscribers with the same selection get the same result of a change, except for the cursor. So
// the result is made for the first, and sent to the others too. That is allowed only where no
// selected field depends on the user: see changes.Iterator.Content and running.shared.

// selection stands for what a subscription selects of its events: the document, the
// operation in it, and the values of the variables that it uses below its field.
type selection [sha256.Size]byte

// selectionOf returns the zero value where results can't be shared.
func selectionOf(op *graphql.OperationContext, ids eventIDs) selection {
	if op.RawQuery == "" || ids.several {
		return selection{}
	}
	used := map[string]any{}
	for _, root := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"}) {
		variablesIn(root.Selections, op.Variables, used)
	}
	values, err := json.Marshal(used)
	if err != nil {
		return selection{}
	}
	h := sha256.New()
	for _, part := range []string{op.RawQuery, op.Operation.Name, string(values)} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return selection(h.Sum(nil))
}

// variablesIn finds the variables that a selection uses. The depth of a document is
// limited, and its fragments are no circles, before it is executed.
func variablesIn(set ast.SelectionSet, values, used map[string]any) {
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			for _, a := range s.Arguments {
				variablesOf(a.Value, values, used)
			}
			directives(s.Directives, values, used)
			variablesIn(s.SelectionSet, values, used)
		case *ast.InlineFragment:
			directives(s.Directives, values, used)
			variablesIn(s.SelectionSet, values, used)
		case *ast.FragmentSpread:
			directives(s.Directives, values, used)
			if s.Definition != nil {
				directives(s.Definition.Directives, values, used)
				variablesIn(s.Definition.SelectionSet, values, used)
			}
		}
	}
}

func directives(list ast.DirectiveList, values, used map[string]any) {
	for _, d := range list {
		for _, a := range d.Arguments {
			variablesOf(a.Value, values, used)
		}
	}
}

func variablesOf(v *ast.Value, values, used map[string]any) {
	if v == nil {
		return
	}
	if v.Kind == ast.Variable {
		if value, given := values[v.Raw]; given {
			used[v.Raw] = value
		}
	}
	for _, child := range v.Children {
		variablesOf(child.Value, values, used)
	}
}

// result is one that was made, without its cursor.
type result struct {
	before, after []byte
	// cursor: there is one between the two.
	cursor bool
}

// with returns the result with a subscriber's own cursor, which needs no escapes.
func (r *result) with(cursor string) []byte {
	if !r.cursor {
		return r.before
	}
	out := make([]byte, 0, len(r.before)+len(cursor)+2+len(r.after))
	out = append(append(append(out, r.before...), '"'), cursor...)
	return append(append(out, '"'), r.after...)
}

// split takes the cursor out of a result, and copies the rest; false when it is not
// where it should be.
func (ids eventIDs) split(data []byte) (*result, bool) {
	if ids.cursor == "" {
		return &result{before: slices.Clone(data)}, true
	}
	from, to, ok := ids.locate(data)
	if !ok || to-from < 2 || data[from] != '"' || data[to-1] != '"' {
		return nil, false
	}
	return &result{before: slices.Clone(data[:from]), after: slices.Clone(data[to:]), cursor: true}, true
}

// resultKey names a result.
type resultKey struct {
	selection selection
	event     changes.Content
}

const (
	// keptResults and keptBytes bound what is kept in each of two generations: results,
	// and the objects that they are of.
	keptResults = 512
	keptBytes   = 4 << 20
)

// results are those that were made lately. What is asked for again lives on.
type results struct {
	mu       sync.Mutex
	now, old map[resultKey]*result
	bytes    int
}

func (s *results) find(key resultKey) (*result, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.now[key]; ok {
		return r, true
	}
	r, ok := s.old[key]
	return r, ok
}

func (s *results) keep(key resultKey, r *result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || len(s.now) >= keptResults || s.bytes >= keptBytes {
		s.old, s.now, s.bytes = s.now, map[resultKey]*result{}, 0
	}
	s.now[key] = r
	s.bytes += len(r.before) + len(r.after) + key.event.Size()
}
