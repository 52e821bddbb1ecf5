package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

var (
	link    = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?)\s*$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// TestLinksLeadSomewhere follows the links of all documents to files of the
// repository, and to headings in them. Links to other sites are not followed.
func TestLinksLeadSomewhere(t *testing.T) {
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, name := range pages(t, root) {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(page(t, root, name), ""), -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			followed++
			path, anchor, _ := strings.Cut(found[1], "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, found[1])
			} else if anchor != "" && !anchors(page(t, root, target))[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, found[1], target)
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were found", followed)
	}
}

// TestIndexListsEachDocumentOnce compares docs/README.md with the pages beside it, and
// looks for a link to it in README.md.
func TestIndexListsEachDocumentOnce(t *testing.T) {
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	const index = "docs/README.md"
	listed := map[string]int{}
	for _, found := range link.FindAllStringSubmatch(page(t, root, index), -1) {
		path, _, _ := strings.Cut(found[1], "#")
		listed[filepath.Join("docs", path)]++
	}
	for _, name := range pages(t, root) {
		if filepath.Dir(name) == "docs" && name != index && listed[name] != 1 {
			t.Errorf("%s links to %s %d times, want once", index, name, listed[name])
		}
	}
	if !strings.Contains(page(t, root, "README.md"), "]("+index+")") {
		t.Errorf("README.md does not link to %s", index)
	}
}

// pages are the documents for people, by their paths in the repository.
func pages(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "*/*/README.md", "*/*/*/README.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if strings.Contains(path, "node_modules") {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	return names
}

func page(t *testing.T, root, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var (
	fenced      = regexp.MustCompile("(?s)```.*?```")
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments by which a document's headings are linked to: in lower
// case, without punctuation, with hyphens for spaces.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := notInAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		all[strings.ReplaceAll(title, " ", "-")] = true
	}
	return all
}
