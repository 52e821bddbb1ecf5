package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// block is something to run that a document shows.
type block struct {
	// where it is, for a person: docs/graphql.md:42.
	where string
	text  string
	// variables that the document shows beside it; nil when it shows none.
	variables map[string]any
	// fails is the code of the error that it is said to end in; empty for none.
	fails string
}

// needsScene reports whether it is about what a scene has.
func (b block) needsScene() bool { return ours.MatchString(b.text) || strings.Contains(b.text, "$") }

// changes reports whether it has a mutation.
func (b block) changes() bool {
	doc, err := parser.ParseQuery(&ast.Source{Input: b.text})
	return err != nil || slices.ContainsFunc(doc.Operations, func(op *ast.OperationDefinition) bool { return op.Operation == ast.Mutation })
}

// patterns are where documents are.
var patterns = []string{"*.md", "docs/*.md", "deploy/*/README.md", "deploy/helm/*/README.md", "ui/graphiql/src/queries/*.graphql"}

// documents are all blocks of all documents, by file.
func documents(t *testing.T) map[string][]block {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]block{}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".graphql") {
				found[name] = []block{{where: name, text: string(raw)}}
			} else if blocks := blocksOf(t, name, string(raw)); len(blocks) > 0 {
				found[name] = blocks
			}
		}
	}
	return found
}

var (
	fence     = regexp.MustCompile("(?s)(?:^|\n) *```([a-z]*)( [^\n]*)?\n(.*?\n?) *```")
	failsWith = regexp.MustCompile(`^# Fails with ([A-Z_]+)`)
	// What a shell sends, as the body or as a parameter of the address.
	inBody    = regexp.MustCompile(`(?s)-d '(\{"query".*?\})'`)
	inAddress = regexp.MustCompile(`(?s)'query=(.*?)'`)
)

// blocksOf are the operations of a document: blocks of GraphQL, but for parts of a
// schema, and what shells send.
func blocksOf(t *testing.T, name, text string) []block {
	t.Helper()
	var all []block
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string { return text[max(at[2*i], 0):max(at[2*i+1], 0)] }
		one := block{where: fmt.Sprintf("%s:%d", name, strings.Count(text[:at[2]], "\n")+1), text: part(3)}
		switch language, info := part(1), strings.TrimSpace(part(2)); {
		case language == "graphql" && !isSchema(one.text):
			if code := failsWith.FindStringSubmatch(one.text); code != nil {
				one.fails = code[1]
			}
			all = append(all, one)
		case language == "json" && info == "variables":
			if len(all) == 0 {
				t.Fatalf("%s: no operation takes these variables", one.where)
			}
			if err := json.Unmarshal([]byte(one.text), &all[len(all)-1].variables); err != nil {
				t.Fatalf("%s: %v", one.where, err)
			}
		case language == "sh":
			for _, body := range inBody.FindAllStringSubmatch(one.text, -1) {
				var sent struct {
					Query string `json:"query"`
				}
				if err := json.Unmarshal([]byte(body[1]), &sent); err != nil {
					t.Errorf("%s: %v: %s", one.where, err, body[1])
				}
				all = append(all, block{where: one.where, text: sent.Query})
			}
			for _, parameter := range inAddress.FindAllStringSubmatch(one.text, -1) {
				all = append(all, block{where: one.where, text: parameter[1]})
			}
		}
	}
	return all
}

// isSchema tells a part of a schema, which can't be run, from an operation.
func isSchema(text string) bool {
	_, err := parser.ParseSchema(&ast.Source{Input: text})
	return err == nil
}
