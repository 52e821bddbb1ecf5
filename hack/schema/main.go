// Command schema publishes the GraphQL schema as a file, and guards what clients
// were promised.
//
//	go run ./hack/schema print                      write docs/schema.graphql
//	go run ./hack/schema check                      fail if that breaks clients of the released schema
//	go run ./hack/schema release [--reason "…"]     make it the released schema
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/sdl"
)

// The files, seen from the root of the repository.
const (
	published = "docs/schema.graphql"
	released  = "graph/sdl/released.graphql"
	// breaks reports what was broken on purpose, and why.
	breaks = "docs/schema-breaks.md"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := root()
	if err != nil {
		return err
	}
	r := repository(root)
	switch strings.Join(args[:min(len(args), 1)], "") {
	case "print":
		return r.print()
	case "check":
		return r.check()
	case "release":
		flags := flag.NewFlagSet("release", flag.ContinueOnError)
		reason := flags.String("reason", "", "why clients are broken, and what they do instead")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return r.release(*reason)
	default:
		return errors.New("say what to do: print, check or release")
	}
}

// root is the folder of the module, from wherever `go generate` runs this.
func root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module's root: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// repository is where the files are.
type repository string

func (r repository) path(name string) string { return filepath.Join(string(r), name) }

func (r repository) print() error {
	text := sdl.Print(generated.NewExecutableSchema(generated.Config{}).Schema())
	return os.WriteFile(r.path(published), []byte(text), 0o644)
}

func (r repository) check() error {
	changes, err := r.changes()
	if err != nil {
		return err
	}
	broken := 0
	for _, c := range changes {
		if c.Severity > sdl.Safe {
			fmt.Println("  " + c.String())
		}
		if c.Severity == sdl.Breaking {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Errorf(`clients of the released schema (%[3]s) break by %[1]d of the changes of %[2]s.
Keep what was there, and mark it @deprecated where something better has come. To break clients on purpose, say
why and what they do instead; this is written to %[4]s:
  make release-schema REASON="…"`, broken, published, released, breaks)
	}
	return nil
}

// changes are those since the released schema.
func (r repository) changes() ([]sdl.Change, error) {
	var docs [2]*sdl.Document
	for i, name := range []string{released, published} {
		text, err := os.ReadFile(r.path(name))
		if err != nil {
			return nil, err
		}
		if docs[i], err = sdl.Parse(name, string(text)); err != nil {
			return nil, err
		}
	}
	return sdl.Compare(docs[0], docs[1]), nil
}

// release promises clients the schema as it is.
func (r repository) release(reason string) error {
	changes, err := r.changes()
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, c := range changes {
		fmt.Println("  " + c.String())
		if c.Severity == sdl.Breaking {
			fmt.Fprintf(&list, "- `%s` %s\n", c.Path, c.What)
		}
	}
	if list.Len() > 0 {
		if strings.TrimSpace(reason) == "" {
			return errors.New(`clients break: say why and what they do instead, with make release-schema REASON="…"`)
		}
		if err := r.record(reason, list.String()); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(r.path(published))
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(released), text, 0o644)
}

// record adds to what was broken on purpose, the latest first.
func (r repository) record(reason, list string) error {
	text, err := os.ReadFile(r.path(breaks))
	if err != nil {
		return err
	}
	title, rest, _ := strings.Cut(string(text), "\n## ")
	if rest != "" {
		rest = "\n## " + rest
	}
	return os.WriteFile(r.path(breaks), []byte(strings.TrimRight(title, "\n")+"\n\n## "+strings.TrimSpace(reason)+"\n\n"+list+rest), 0o644)
}
