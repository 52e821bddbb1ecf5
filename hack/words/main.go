// Command words checks that what people read in this repository uses plain words: the comments
// of code, the descriptions of the schema, and the pages. list.go holds the words to avoid.
//
// Strings in code are not read: clients, logs and metrics show them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if err := run(*root, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// run prints every word to avoid, and fails if there is one.
func run(root string, out io.Writer) error {
	files, err := tracked(root)
	if err != nil {
		return err
	}
	rules := compile(list)
	count := 0
	for _, name := range files {
		read := reader(name)
		if read == nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // Deleted, and not yet committed.
		}
		if err != nil {
			return err
		}
		passages, err := read(content)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		for _, f := range check(name, string(content), passages, rules) {
			fmt.Fprintf(out, "%s:%d: %q: %s\n", name, f.line, f.words, f.instead)
			count++
		}
	}
	if count > 0 {
		return fmt.Errorf("%d places use words that hack/words/list.go says to avoid", count)
	}
	return nil
}

// tracked returns the names of the files that are committed or about to be.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	listed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the repository's files: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(listed), "\x00"), "\x00"), nil
}
