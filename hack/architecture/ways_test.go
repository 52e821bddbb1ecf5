package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step is a line of a list in ARCHITECTURE.md: a file and the functions of it.
var step = regexp.MustCompile("^\\d+\\. `([a-z0-9/_.]+\\.go)`: ((?:`[A-Za-z.]+`(?:, )?)+)")

// TestWaysExist checks that ARCHITECTURE.md names functions that exist in the files that it names.
func TestWaysExist(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## The way of a request\n")
	if !ok {
		t.Fatal("the section is missing")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	steps := 0
	for line := range strings.Lines(section) {
		found := step.FindStringSubmatch(line)
		if found == nil {
			if regexp.MustCompile(`^\d+\. `).MatchString(line) {
				t.Errorf("this step names no file with functions: %s", line)
			}
			continue
		}
		steps++
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(found[1])))
		if err != nil {
			t.Error(err)
			continue
		}
		for name := range strings.SplitSeq(strings.TrimSpace(found[2]), ", ") {
			name = strings.Trim(name, "`")
			receiver, method, isMethod := strings.Cut(name, ".")
			declaration := `(?m)^func ` + receiver + `[\[(]`
			if isMethod {
				declaration = `(?m)^func \((?:[a-z]+ )?\*?` + receiver + `(?:\[[A-Z]+\])?\) ` + method + `\(`
			}
			if !regexp.MustCompile(declaration).Match(source) {
				t.Errorf("%s has no function %s", found[1], name)
			}
		}
	}
	if steps < 30 {
		t.Errorf("%d steps, want those of four lists", steps)
	}
}
