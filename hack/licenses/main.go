// Command licenses lists what is linked into Kairship's programs and under which
// licences, refuses what the policy does not know, and writes docs/licenses.md. With
// -texts it writes the licences themselves, which have to go with the programs.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	list := flag.String("list", "", "file to write the list to, in Markdown")
	texts := flag.String("texts", "", "file to write the licences to, as text")
	flag.Parse()
	if err := run(*root, *list, *texts); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(root, list, texts string) error {
	modules, err := linked(root)
	if err != nil {
		return err
	}
	packages, err := bundled(filepath.Join(root, "ui", "console", "package-lock.json"), filepath.Join(root, "ui", "graphiql", "package-lock.json"))
	if err != nil {
		return err
	}
	all := slices.Concat(modules, packages)
	if err := check(all); err != nil {
		return err
	}
	if list != "" {
		var page bytes.Buffer
		write(&page, modules, packages)
		if err := os.WriteFile(list, page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if texts == "" {
		return nil
	}
	var licences bytes.Buffer
	writeTexts(&licences, all)
	return os.WriteFile(texts, licences.Bytes(), 0o644)
}

// part is something that others wrote.
type part struct {
	Name, Version string
	// Licences are SPDX identifiers, sorted.
	Licences []string
	// texts are the licences and notices, as they came.
	texts [][]byte
}

// linked are the modules of which something is in the programs, as they are released.
func linked(root string) ([]part, error) {
	cmd := exec.CommandContext(context.Background(), "go", "list", "-deps", "-json=Module,Standard", "./cmd/apiserver", "./cmd/controller-manager", "./cmd/kubectl-kairship")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules: %w", err)
	}
	type module struct {
		Path    string `json:"Path"`
		Version string `json:"Version"`
		Dir     string `json:"Dir"`
		Main    bool   `json:"Main"`
	}
	seen := map[string]bool{}
	var parts []part
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *module `json:"Module"`
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil || p.Module.Main || seen[p.Module.Path] {
			continue
		}
		seen[p.Module.Path] = true
		found, err := inFolder(p.Module.Dir)
		if err != nil {
			return nil, err
		}
		found.Name, found.Version = p.Module.Path, p.Module.Version
		if d, is := declared[found.Name]; is && len(found.Licences) == 0 {
			found.Licences = []string{d.licence}
			found.texts = append(found.texts, []byte(d.licence+": "+d.because+".\n"))
		}
		parts = append(parts, found)
	}
	goroot, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	standard, err := inFolder(strings.TrimSpace(string(goroot)))
	if err != nil {
		return nil, err
	}
	standard.Name = "Go's standard library"
	parts = append(parts, standard)
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.Name, b.Name) })
	return parts, nil
}

// bundled are the npm packages that the GraphiQL page may be made of. What their
// licences are, they say themselves. Their texts are there once the page was built.
func bundled(locks ...string) ([]part, error) {
	var parts []part
	for _, lock := range locks {
		found, err := lockedIn(lock)
		if err != nil {
			return nil, err
		}
		parts = append(parts, found...)
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version)) })
	return slices.CompactFunc(parts, func(a, b part) bool { return a.Name == b.Name && a.Version == b.Version }), nil
}

// lockedIn are those that one lock file names.
func lockedIn(lock string) ([]part, error) {
	raw, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var content struct {
		Packages map[string]struct {
			Version string `json:"version"`
			License string `json:"license"`
			Dev     bool   `json:"dev"`
			// DevOptional are packages of the build that others name as optional: types.
			DevOptional bool `json:"devOptional"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	var parts []part
	for path, p := range content.Packages {
		if at := strings.LastIndex(path, "node_modules/"); at >= 0 && !p.Dev && !p.DevOptional {
			found := part{Name: path[at+len("node_modules/"):], Version: p.Version}
			if p.License != "" {
				found.Licences = []string{p.License}
			}
			if found.texts, err = packageTexts(filepath.Join(filepath.Dir(lock), path), p.License); err != nil {
				return nil, err
			}
			parts = append(parts, found)
		}
	}
	return parts, nil
}

// packageTexts are the licences and notices in a package's folder; none where the folder
// is not there. Of a package without a file it is what its package.json says.
func packageTexts(dir, licence string) ([][]byte, error) {
	found, err := inFolder(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(found.texts) == 0:
		return [][]byte{[]byte(licence + ": its package.json says so, and there is no file with the licence.\n")}, nil
	}
	return found.texts, nil
}
