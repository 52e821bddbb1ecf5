package flags

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// width is that of the help, in characters.
const width = 100

const (
	nameIndent = "  "
	textIndent = "        "
)

// introduction says how settings are given, in the help and in the reference.
const introduction = "Each setting is a flag; a variable of the environment, under the name at its right; and a key of the YAML " +
	"file that --config (or KAIRSHIP_CONFIG) names, like the flag without its dashes. A flag goes before the environment, the " +
	"environment before the file, the file before the default. Durations have units: 500ms, 30s, 1m30s."

func (p Program) help(out io.Writer, groups []Group) {
	fmt.Fprintf(out, "%s %s\n\nUsage:\n  %s [flags]\n\n%s", p.Name, p.Purpose, p.Name, wrapped(introduction, ""))
	for i, group := range groups {
		fmt.Fprintf(out, "\n%s:\n", group.Title)
		group.VisitAll(func(flag *pflag.Flag) {
			variable := environmentName(flag.Name)
			if i == len(groups)-1 && flag.Name != configFlag {
				variable = "" // They are about this command line.
			}
			d := describe(flag)
			left := nameIndent + d.synopsis()
			if space := width - len(left) - len(variable); variable != "" && space > 1 {
				left += strings.Repeat(" ", space) + variable
			} else if variable != "" {
				left += "\n" + strings.Repeat(" ", width-len(variable)) + variable
			}
			fmt.Fprintf(out, "%s\n%s", left, wrapped(d.text+d.byDefault(), textIndent))
		})
	}
}

// description is what the help and the reference say about a flag.
type description struct {
	name, short string
	// kind is that of the value, such as file, number or duration; empty for a switch.
	kind string
	// fallback is the default; empty when it is empty.
	fallback string
	text     string
}

func describe(flag *pflag.Flag) description {
	kind, text := pflag.UnquoteUsage(flag)
	if !strings.Contains(flag.Usage, "`") {
		switch flag.Value.Type() {
		case "int", "int32", "int64", "uint", "uint32", "uint64", "float32", "float64":
			kind = "number"
		case "string":
			kind = "text"
		case "stringSlice", "stringArray":
			kind = "list"
		}
	}
	d := description{name: "--" + flag.Name, kind: kind, text: text, fallback: flag.DefValue}
	if flag.Shorthand != "" {
		d.short = "-" + flag.Shorthand
	}
	switch flag.Value.Type() {
	case "duration":
		d.fallback = shortDuration(flag.DefValue)
	case "bool":
		d.kind = ""
	}
	if d.fallback == "[]" {
		d.fallback = ""
	}
	return d
}

// synopsis is "--index-timeout duration".
func (d description) synopsis() string {
	text := d.name
	if d.short != "" {
		text = d.short + ", " + text
	}
	if d.kind != "" {
		text += " " + d.kind
	}
	return text
}

// byDefault is " (default 5s)".
func (d description) byDefault() string {
	if d.fallback == "" || d.fallback == "false" {
		return ""
	}
	return " (default " + d.fallback + ")"
}

// shortDuration writes 1m0s as 1m, and 168h0m0s as 168h.
func shortDuration(d string) string {
	if rest, is := strings.CutSuffix(d, "m0s"); is {
		d = rest + "m"
	}
	if rest, is := strings.CutSuffix(d, "h0m"); is {
		d = rest + "h"
	}
	return d
}

// wrapped breaks a text into lines of the width, each with an indent and an end.
func wrapped(text, indent string) string {
	var out strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != indent {
			out.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return out.String() + line + "\n"
}
