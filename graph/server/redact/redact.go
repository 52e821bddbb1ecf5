// Package redact removes what the author of a request wrote from messages about it.
//
// gqlgen and gqlparser quote the request: "String cannot represent a non string value:
// hunter2". Users sometimes paste a secret into the wrong place, and errors are kept in
// logs and shown in pages; so values are removed from messages, and the place is in
// locations and argument. Names stay, because a message about a field that does not exist
// is of no use without it.
package redact

import (
	"regexp"
	"strings"
)

// valueTexts find where a message quotes a value, with what takes its place.
var valueTexts = []struct {
	find *regexp.Regexp
	put  string
}{
	// Of the rule ValuesOfCorrectType.
	{regexp.MustCompile(`(?s)^(\w+ cannot represent (?:a )?non[- ].*? value): .*?( Did you mean the enum value.*)?$`), "$1.$2"},
	{regexp.MustCompile(`(?s)^(Enum "[^"]*" cannot represent non-enum value): .*?( Did you mean the enum value.*)?$`), "$1.$2"},
	{regexp.MustCompile(`(?s)^Value ".*" does not exist in ("\w[^"]*" enum\.)`), "The value does not exist in $1"},
	{regexp.MustCompile(`(?s)^(Expected value of type "[^"]*"), found .*?( Did you mean the enum value.*)?$`), "$1.$2"},
	// Of the parser.
	{regexp.MustCompile(`(?s)\b(String|BlockString|Int|Float|Comment|Invalid) ".*"`), "$1"},
	{regexp.MustCompile(`(?s)^(Invalid character escape sequence): .*`), "$1."},
	{regexp.MustCompile(`(?s)^(Invalid number), .*`), "$1."},
	// Of the coercion of arguments.
	{regexp.MustCompile(`(?s)^.* (is not a valid \w+)$`), "$1"},
	{regexp.MustCompile(`(?s)^(parsing time) .*`), "is not a time"},
}

// MaxName is the length of the longest name that is shown.
const MaxName = 64

var quoted = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"`)

// plainName is what a name of GraphQL, a type or a field of one looks like.
var plainName = regexp.MustCompile(`^[@$]?[\[\]!\w.]+$`)

// Message removes what the request's author wrote from a message, except names.
func Message(message string) string {
	for _, v := range valueTexts {
		message = v.find.ReplaceAllString(message, v.put)
	}
	return quoted.ReplaceAllStringFunc(message, func(text string) string {
		name := text[1 : len(text)-1]
		if len(name) > MaxName || !plainName.MatchString(name) && !punctuation(name) {
			return `"…"`
		}
		return text
	})
}

// punctuation reports whether a text is one of the grammar's, which the parser names.
func punctuation(text string) bool {
	return len(text) <= 3 && strings.Trim(text, "{}()[]:=!|&$@.,#;?^%*+/<>~`'-") == ""
}

// Path returns the path of an input if it consists of names and positions, and "…" else:
// a client may send anything in the place of a name.
func Path(path string) string {
	if len(path) <= MaxName*4 && argumentPath.MatchString(path) {
		return path
	}
	return "…"
}

var argumentPath = regexp.MustCompile(`^\$?\w{1,64}(?:\.\w{1,64}|\[\d{1,6}\])*$`)
