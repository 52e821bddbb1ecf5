package main

import (
	"regexp"
	"slices"
	"strings"
)

// entry is one word or phrase to avoid.
type entry struct {
	words   string // a regular expression of whole words, in small letters; a space is also a line break
	instead string

	// literalInCode limits the entry to Markdown and the schema: code has the word as a name or in
	// its literal sense.
	literalInCode bool
}

type rule struct {
	entry

	expression *regexp.Regexp
}

// lineBreak is what may stand for a space in a phrase: the next line may begin with the mark of a comment.
const lineBreak = `(?:[ \t]+|[ \t]*\n[ \t]*(?://|#|\*)?[ \t]*)`

var breaks = regexp.MustCompile(lineBreak)

func compile(entries []entry) []rule {
	var rules []rule
	for _, e := range entries {
		words := strings.ReplaceAll(e.words, " ", lineBreak)
		rules = append(rules, rule{entry: e, expression: regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)})
	}
	return rules
}

// finding is a place that uses words to avoid.
type finding struct {
	at, line       int
	words, instead string
}

// check returns what the rules find in the passages of a file, in its order.
func check(name, content string, passages []passage, rules []rule) []finding {
	var found []finding
	for _, r := range rules {
		if r.literalInCode && !page(name) {
			continue
		}
		for _, p := range passages {
			for _, at := range r.expression.FindAllStringIndex(content[p.start:p.end], -1) {
				start, end := p.start+at[0], p.start+at[1]
				found = append(found, finding{
					at:      start,
					line:    1 + strings.Count(content[:start], "\n"),
					words:   breaks.ReplaceAllString(content[start:end], " "),
					instead: r.instead,
				})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.at - b.at })
	return found
}
