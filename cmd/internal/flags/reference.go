package flags

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// Reference writes all settings for the documentation, in Markdown: a table for each
// group.
func (p Program) Reference(out io.Writer) {
	for _, group := range p.Groups {
		fmt.Fprintf(out, "\n### %s\n\n| setting | takes | default | |\n| --- | --- | --- | --- |\n", group.Title)
		group.VisitAll(func(flag *pflag.Flag) {
			d := describe(flag)
			fmt.Fprintf(out, "| `%s`<br>`%s` | %s | %s | %s |\n", flag.Name, environmentName(flag.Name),
				cmp.Or(d.kind, "true or false"), code(d.fallback), cell(d.text))
		})
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// cell escapes what would end a cell of a table, or be taken for HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
