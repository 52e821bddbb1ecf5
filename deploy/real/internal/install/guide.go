package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// guide is a page of the documentation whose blocks are carried out as they are written.
type guide struct {
	path string
	text string
}

func readGuide(repository string, path ...string) (guide, error) {
	file := filepath.Join(append([]string{repository}, path...)...)
	text, err := os.ReadFile(file)
	return guide{path: filepath.Join(path...), text: string(text)}, err
}

// block returns the one block in the language that contains all marks. Blocks in lists are indented by
// the list's three spaces.
func (g guide) block(language string, marks ...string) (string, error) {
	var found []string
	for _, indent := range []string{"", "   "} {
		for i, part := range strings.Split(g.text, "\n"+indent+"```"+language+"\n") {
			block, _, ends := strings.Cut(part, "\n"+indent+"```")
			if i == 0 || !ends || !containsAll(block, marks) {
				continue
			}
			found = append(found, strings.ReplaceAll("\n"+block, "\n"+indent, "\n")[1:])
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d blocks of %s with %q, want one: `make real` carries out what the page says", g.path, len(found), language, marks)
	}
	return found[0] + "\n", nil
}

func containsAll(text string, marks []string) bool {
	for _, mark := range marks {
		if !strings.Contains(text, mark) {
			return false
		}
	}
	return true
}

// replace changes what a reader has to fill in. A text that is not there is a change of the page.
func replace(block string, pairs ...string) (string, error) {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(block, pairs[i]) {
			return "", fmt.Errorf("the documented block has no %q any more:\n%s", pairs[i], block)
		}
		block = strings.ReplaceAll(block, pairs[i], pairs[i+1])
	}
	return block, nil
}

// withoutLines leaves out the lines that begin with a prefix.
func withoutLines(block, prefix string) string {
	var kept []string
	for line := range strings.SplitSeq(block, "\n") {
		if !strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
