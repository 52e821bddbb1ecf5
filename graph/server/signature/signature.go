// Package signature writes GraphQL operations without what only one request has: values,
// variables and literals alike, aliases and comments. Requests of one shape have the same
// signature, and a log that holds it holds no secrets. Names of the schema, of variables
// and of fragments remain.
package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Of returns the signature of an operation, with the fragments that it uses behind it.
// It never grows beyond so many bytes.
func Of(op *ast.OperationDefinition, most int) string {
	w := &writer{most: most, seen: map[string]bool{}}
	w.text(string(op.Operation))
	for i, v := range op.VariableDefinitions {
		w.list(i, "(")
		w.text("$" + v.Variable + ":" + v.Type.String())
	}
	w.close(len(op.VariableDefinitions), ")")
	w.directives(op.Directives)
	w.selections(op.SelectionSet)
	for len(w.fragments) > 0 && !w.full() {
		f := w.fragments[0]
		w.fragments = w.fragments[1:]
		w.text(" fragment " + f.Name + " on " + f.TypeCondition)
		w.directives(f.Directives)
		w.selections(f.SelectionSet)
	}
	if w.full() {
		return w.b.String()[:most] + "…"
	}
	return w.b.String()
}

// Hash returns a short name of a signature.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

type writer struct {
	b         strings.Builder
	most      int
	seen      map[string]bool
	fragments []*ast.FragmentDefinition
}

func (w *writer) full() bool { return w.b.Len() > w.most }

func (w *writer) text(s string) {
	if !w.full() {
		w.b.WriteString(s)
	}
}

// list writes what comes before the i-th of some things.
func (w *writer) list(i int, open string) {
	if i == 0 {
		w.text(open)
		return
	}
	w.text(",")
}

func (w *writer) close(length int, end string) {
	if length > 0 {
		w.text(end)
	}
}

func (w *writer) selections(set ast.SelectionSet) {
	for i, selection := range set {
		if w.full() {
			return
		}
		if i == 0 {
			w.text("{")
		} else {
			w.text(" ")
		}
		switch s := selection.(type) {
		case *ast.Field:
			w.text(s.Name)
			w.arguments(s.Arguments)
			w.directives(s.Directives)
			w.selections(s.SelectionSet)
		case *ast.InlineFragment:
			w.text("...")
			if s.TypeCondition != "" {
				w.text("on " + s.TypeCondition)
			}
			w.directives(s.Directives)
			w.selections(s.SelectionSet)
		case *ast.FragmentSpread:
			w.text("..." + s.Name)
			w.directives(s.Directives)
			if s.Definition != nil && !w.seen[s.Name] {
				w.seen[s.Name] = true
				w.fragments = append(w.fragments, s.Definition)
			}
		}
	}
	w.close(len(set), "}")
}

// arguments writes which arguments there are, and never what they are.
func (w *writer) arguments(arguments ast.ArgumentList) {
	for i, a := range arguments {
		w.list(i, "(")
		w.text(a.Name)
	}
	w.close(len(arguments), ")")
}

func (w *writer) directives(directives ast.DirectiveList) {
	for _, d := range directives {
		w.text("@" + d.Name)
		w.arguments(d.Arguments)
	}
}
