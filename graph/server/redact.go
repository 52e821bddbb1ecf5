package server

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// What gqlgen and gqlparser say about a request quotes it: "String cannot represent
// a non string value: hunter2". What people paste into the wrong place is a secret
// now and then, and errors are kept in logs and shown in pages; so values are taken
// out of messages, and the place is in locations and argument. Names stay, because
// a message about a field that does not exist is of no use without it.

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

// maxQuoted is the length of the longest name that is shown.
const maxQuoted = 64

var quoted = regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"`)

// plainName is what a name of GraphQL, a type or a field of one looks like.
var plainName = regexp.MustCompile(`^[@$]?[\[\]!\w.]+$`)

// withoutValues takes what the request's author wrote out of a message, names excepted.
func withoutValues(message string) string {
	for _, v := range valueTexts {
		message = v.find.ReplaceAllString(message, v.put)
	}
	return quoted.ReplaceAllStringFunc(message, func(text string) string {
		name := text[1 : len(text)-1]
		if len(name) > maxQuoted || !plainName.MatchString(name) && !punctuation(name) {
			return `"…"`
		}
		return text
	})
}

// punctuation tells the characters of the grammar, which the parser names.
func punctuation(text string) bool {
	return len(text) <= 3 && strings.Trim(text, "{}()[]:=!|&$@.,#;?^%*+/<>~`'-") == ""
}

// withoutSecrets takes the names of inputs out of a path that should not be given an
// input: what is in their place may be anything.
func withoutSecrets(path string) string {
	if len(path) <= maxQuoted*4 && argumentPath.MatchString(path) {
		return path
	}
	return "…"
}

var argumentPath = regexp.MustCompile(`^\$?\w{1,64}(?:\.\w{1,64}|\[\d{1,6}\])*$`)

// placeOf is a path of the response as the log has it: with the names that the schema
// gives to fields, because an alias may be anything.
func placeOf(ctx context.Context, path ast.Path) string {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil {
		return path.String()
	}
	var place ast.Path
	for ; fc != nil; fc = fc.Parent {
		switch {
		case fc.Index != nil:
			place = append(place, ast.PathIndex(*fc.Index))
		case fc.Field.Field != nil:
			place = append(place, ast.PathName(fc.Field.Name))
		}
	}
	slices.Reverse(place)
	return place.String()
}
