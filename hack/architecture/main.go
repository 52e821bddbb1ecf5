// Command architecture prints the size of the code base as a Markdown table, with a column for each
// folder that is named as LABEL=FOLDER. Generated files do not count.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/kairship-io/kairship/"

// folders are those of the programs; the others are tests, tools and the fleet for development.
var folders = []string{"cmd", "graph", "pkg"}

// big is the number of lines from which a package is listed.
const big = 2000

// layers are the imports that depguard refuses in .golangci.yml, between parts of Kairship.
var layers = []struct{ from, to string }{
	{"pkg", "graph"},
	{"pkg", "cmd"},
	{"pkg/apis", ""},
	{"pkg/index", "pkg/fleet"},
	{"pkg/instanceproxy", "pkg/fleet"},
	{"pkg/live", "pkg/fleet"},
	{"pkg/connection", "pkg/fleet"},
	{"pkg/index", "pkg/controllers"},
	{"pkg/instanceproxy", "pkg/controllers"},
	{"pkg/live", "pkg/controllers"},
	{"pkg/connection", "pkg/controllers"},
	{"pkg/fleet", "pkg/controllers"},
	{"pkg/controllers", "pkg/index"},
	{"cmd/controller-manager", "pkg/index"},
	{"graph", "pkg/controllers"},
	{"cmd/apiserver", "pkg/controllers"},
	{"cmd/controller-manager", "graph"},
	{"graph", "cmd"},
}

// file is a Go file that people wrote.
type file struct {
	path     string
	lines    int
	exported int
	imports  []string
}

func (f *file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f *file) product() bool {
	first, _, _ := strings.Cut(f.path, "/")
	return slices.Contains(folders, first) && !f.test()
}

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/architecture today=. [older=FOLDER]...")
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(columns []string) error {
	header := []string{"", "---"}
	var rows []string
	for i, column := range columns {
		label, folder, ok := strings.Cut(column, "=")
		if !ok {
			return fmt.Errorf("%q is not LABEL=FOLDER", column)
		}
		files, err := read(folder)
		if err != nil {
			return err
		}
		header[0] += " | " + label
		header[1] += " | ---"
		for n, f := range figuresOf(files) {
			if i == 0 {
				rows = append(rows, "| "+f.name)
			}
			rows[n] += " | " + f.value
		}
	}
	fmt.Printf("| figure%s |\n| %s |\n", header[0], header[1])
	for _, row := range rows {
		fmt.Println(row + " |")
	}
	return nil
}

// read returns the files of a folder that people wrote.
func read(root string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "bin"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(at, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		f, err := parse(at, filepath.ToSlash(relative))
		if f != nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

// parse returns nil for a generated file.
func parse(at, relative string) (*file, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, at, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(syntax) {
		return nil, nil
	}
	f := &file{path: relative, lines: set.File(syntax.Pos()).LineCount() - 1}
	for _, i := range syntax.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		f.imports = append(f.imports, name)
	}
	for _, d := range syntax.Decls {
		f.exported += exported(d)
	}
	return f, nil
}

// exported counts the identifiers at the top level that other packages can use, and methods.
func exported(d ast.Decl) int {
	n := 0
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

type figure struct{ name, value string }

func figuresOf(files []*file) []figure {
	var code, tests, product, exports, against int
	packages, counts := map[string]int{}, map[string]int{}
	longest := &file{}
	for _, f := range files {
		packages[path.Dir(f.path)] += 0
		if f.test() {
			tests += f.lines
			continue
		}
		code += f.lines
		packages[path.Dir(f.path)] += f.lines
		counts["files"]++
		if f.lines > longest.lines {
			longest = f
		}
		if f.product() {
			product += f.lines
			exports += f.exported
		}
		against += againstLayers(f)
	}
	var large []string
	for name, lines := range packages {
		if lines > big {
			large = append(large, fmt.Sprintf("%#q (%d)", name, lines))
		}
	}
	slices.Sort(large)
	list := strings.Join(large, ", ")
	if list == "" {
		list = "none"
	}
	return []figure{
		{"packages", strconv.Itoa(len(packages))},
		{"files of code", strconv.Itoa(counts["files"])},
		{"files of tests", strconv.Itoa(len(files) - counts["files"])},
		{"lines of code", strconv.Itoa(code)},
		{"lines of code in `" + strings.Join(folders, "`, `") + "`", strconv.Itoa(product)},
		{"lines of tests", strconv.Itoa(tests)},
		{"longest file of code", fmt.Sprintf("%#q (%d)", longest.path, longest.lines)},
		{"exported identifiers in these folders", strconv.Itoa(exports)},
		{fmt.Sprintf("packages over %d lines", big), list},
		{"imports against the layers", strconv.Itoa(against)},
	}
}

func againstLayers(f *file) int {
	n := 0
	for _, name := range f.imports {
		to, ours := strings.CutPrefix(name, module)
		if !ours {
			continue
		}
		for _, l := range layers {
			if within(f.path, l.from) && (l.to == "" && !within(to, l.from) || l.to != "" && within(to, l.to)) {
				n++
			}
		}
	}
	return n
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
