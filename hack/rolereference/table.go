package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// table writes a table in Markdown.
func table(w io.Writer, columns []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(columns)
	line(slices.Repeat([]string{"---"}, len(columns)))
	for _, cells := range rows {
		escaped := make([]string, len(cells))
		for i, cell := range cells {
			escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		line(escaped)
	}
}

// code marks names as such, in a list.
func code(names []string) string {
	marked := make([]string, len(names))
	for i, name := range names {
		marked[i] = "`" + name + "`"
	}
	return strings.Join(marked, ", ")
}

// groups names API groups; the core group has no name.
func groups(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		if out[i] = "`" + name + "`"; name == "" {
			out[i] = "core"
		}
	}
	return strings.Join(out, ", ")
}

// everyVerb are those of which a rule that has all is written with one word.
var everyVerb = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// verbs names verbs, with a shorter word for the usual sets.
func verbs(of []string) string {
	for _, usual := range []struct {
		verbs []string
		word  string
	}{
		{everyVerb, "read, write"},
		{everyVerb[:3], "read"},
		{everyVerb[3:], "write"},
	} {
		if len(of) == len(usual.verbs) && !slices.ContainsFunc(of, func(v string) bool { return !slices.Contains(usual.verbs, v) }) {
			return usual.word
		}
	}
	return strings.Join(of, ", ")
}

// resources names what a rule is about, with the names of single objects.
func resources(rule *rbacv1.PolicyRule) string {
	if len(rule.NonResourceURLs) > 0 {
		return "path " + code(rule.NonResourceURLs)
	}
	text := code(rule.Resources)
	if len(rule.ResourceNames) > 0 {
		text += " named " + code(rule.ResourceNames)
	}
	return text
}
