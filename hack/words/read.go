package main

import (
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// passage is a part of a file that people read, in bytes from its start.
type passage struct{ start, end int }

var (
	// skipped are files that generators or tests write, and texts of others.
	skipped = regexp.MustCompile(`^docs/(configuration|licenses|role-reference)\.md$|^deploy/helm/kairship/crds/|(^|/)(testdata|node_modules|generated)/|^hack/words/`)

	fences      = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	hashes      = regexp.MustCompile(`(?m)(?:^|[ \t])#.*(?:\n[ \t]*#.*)*`)
	slashes     = regexp.MustCompile(`(?s)/\*.*?\*/|(?:^|[\s;{}])//[^\n]*(?:\n[ \t]*//[^\n]*)*`)
	declared    = regexp.MustCompile(`^// [a-z]\w*`) // The identifier that a doc comment begins with.
	goGenerated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// reader returns the function that finds the passages of a file, or nil where nothing is read.
func reader(name string) func(content []byte) ([]passage, error) {
	if skipped.MatchString(name) {
		return nil
	}
	switch path.Ext(name) {
	case ".go":
		return goComments
	case ".md":
		return outside(fences)
	case ".graphqls":
		return func(content []byte) ([]passage, error) { return []passage{{0, len(content)}}, nil }
	case ".yaml", ".yml", ".sh":
		return inside(hashes)
	case ".ts", ".tsx", ".mjs", ".css":
		return inside(slashes)
	}
	if base := path.Base(name); base == "Makefile" || base == "Dockerfile" {
		return inside(hashes)
	}
	return nil
}

// page reports whether a file is Markdown or schema.
func page(name string) bool {
	return strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".graphqls")
}

func goComments(content []byte) ([]passage, error) {
	if goGenerated.Match(content) {
		return nil, nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var passages []passage
	for _, group := range file.Comments {
		from := group.Pos() + token.Pos(len(declared.FindString(group.List[0].Text)))
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "// +") { // A marker of controller-gen: what it says is shown by the API server.
				passages = append(passages, span(files, from, comment.Pos()))
				from = comment.End()
			}
		}
		passages = append(passages, span(files, from, group.End()))
	}
	return passages, nil
}

func span(files *token.FileSet, from, to token.Pos) passage {
	return passage{files.Position(from).Offset, files.Position(to).Offset}
}

func inside(comments *regexp.Regexp) func([]byte) ([]passage, error) {
	return func(content []byte) ([]passage, error) {
		var passages []passage
		for _, at := range comments.FindAllIndex(content, -1) {
			passages = append(passages, passage{at[0], at[1]})
		}
		return passages, nil
	}
}

func outside(code *regexp.Regexp) func([]byte) ([]passage, error) {
	return func(content []byte) ([]passage, error) {
		var passages []passage
		from := 0
		for _, at := range code.FindAllIndex(content, -1) {
			passages = append(passages, passage{from, at[0]})
			from = at[1]
		}
		return append(passages, passage{from, len(content)}), nil
	}
}
