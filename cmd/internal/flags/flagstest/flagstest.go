// Package flagstest keeps what is written about a program's settings in step with them:
// the help, which a golden file shows to reviewers, and docs/configuration.md. In the
// folder of a program, `go test -run TestSettings -update .` writes both anew.
package flagstest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
)

var update = flag.Bool("update", false, "write the help and the reference anew instead of comparing them")

// longest is how many characters a line of the help may have.
const longest = 100

// Settings checks the settings of a program from its folder, cmd/<program>.
func Settings(t *testing.T, program flags.Program) {
	t.Helper()
	var help, reference bytes.Buffer
	if _, err := program.Parse([]string{"--help"}, nil, &help); !errors.Is(err, flags.ErrPrinted) {
		t.Fatalf("--help: %v", err)
	}
	for line := range strings.Lines(help.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > longest {
			t.Errorf("a line of the help is too long: %s", line)
		}
	}
	program.Reference(&reference)
	compare(t, filepath.Join("testdata", "help.txt"), func(string) string { return help.String() })

	begin, end := "<!-- settings of "+program.Name+" -->\n", "\n<!-- end of settings of "+program.Name+" -->"
	compare(t, filepath.Join("..", "..", "docs", "configuration.md"), func(page string) string {
		before, rest, opened := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Fatalf("docs/configuration.md has no place for %s, between %q and %q", program.Name, begin, end)
		}
		return before + begin + reference.String() + end + after
	})
	for _, group := range program.Groups {
		group.VisitAll(func(f *pflag.Flag) { checkFlag(t, f) })
	}
}

// compare a file with what it should be, or writes that.
func compare(t *testing.T, path string, whole func(string) string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := whole(string(raw))
	if want == string(raw) {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is out of date: run `make generate` (-want +got):\n%s", path, cmp.Diff(string(raw), want))
}

// secretive are words in names of flags that could hold a secret.
var secretive = regexp.MustCompile(`passw|passphrase|token|secret|credential|key|header`)

// checkFlag keeps flags readable, and secrets out of them.
func checkFlag(t *testing.T, f *pflag.Flag) {
	t.Helper()
	if f.Usage == "" {
		t.Errorf("--%s has no text", f.Name)
	}
	if strings.HasSuffix(f.Usage, ".") {
		t.Errorf("the text of --%s ends with a full stop", f.Name)
	}
	kind, _ := pflag.UnquoteUsage(f)
	if secretive.MatchString(f.Name) && strings.HasPrefix(f.Value.Type(), "string") && kind != "file" && kind != "namespace/name" && kind != "namespaces" {
		t.Errorf("--%s looks like a secret, which a command line and an environment show to too many: take the `file` or the `namespace/name` of the Secret that it is in", f.Name)
	}
}
