package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sqlReview is what was found in a package's source about where its SQL is from.
type sqlReview struct {
	// constants are the files that hold constants of the type sqlText.
	constants map[string]bool
	// violations are the ways by which other text could become SQL.
	violations []string

	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
	text types.Type
}

// reviewSQL type-checks a package and follows every value of its type sqlText.
func reviewSQL(fset *token.FileSet, files []*ast.File, lookup func(string) (io.ReadCloser, error)) (*sqlReview, error) {
	r := &sqlReview{constants: map[string]bool{}, fset: fset, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup), GoVersion: "go1.26"}
	var err error
	if r.pkg, err = conf.Check("index", fset, files, r.info); err != nil {
		return nil, err
	}
	of := r.pkg.Scope().Lookup("sqlText")
	if of == nil {
		return nil, errors.New("there is no type sqlText")
	}
	r.text = of.Type()
	for _, f := range files {
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); path == "unsafe" || path == "reflect" {
				r.reportf(imp, "the package %s can change any value", path)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			r.node(n)
			return true
		})
	}
	return r, nil
}

func (r *sqlReview) reportf(n ast.Node, format string, args ...any) {
	at := r.fset.Position(n.Pos())
	r.violations = append(r.violations, fmt.Sprintf("%s:%d: ", filepath.Base(at.Filename), at.Line)+fmt.Sprintf(format, args...))
}

// holds reports whether a value of the type has SQL in it.
func (r *sqlReview) holds(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if types.Identical(t, r.text) {
			return true
		}
		for arg := range t.TypeArgs().Types() {
			if r.holds(arg) {
				return true
			}
		}
		return t.Obj().Pkg() == r.pkg && r.holds(t.Underlying())
	case *types.Pointer:
		return r.holds(t.Elem())
	case *types.Slice:
		return r.holds(t.Elem())
	case *types.Array:
		return r.holds(t.Elem())
	case *types.Map:
		return r.holds(t.Key()) || r.holds(t.Elem())
	case *types.Chan:
		return r.holds(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if r.holds(f.Type()) {
				return true
			}
		}
	case *types.Tuple:
		for v := range t.Variables() {
			if r.holds(v.Type()) {
				return true
			}
		}
	}
	return false
}

// node looks at one place where SQL may come into being.
func (r *sqlReview) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.TypeSpec:
		if t := r.info.Defs[n.Name].Type(); n.Name.Name != "sqlText" && types.Identical(r.info.TypeOf(n.Type), r.text) {
			r.reportf(n, "%s is another name of sqlText", t)
		}
	case *ast.CallExpr:
		r.call(n)
	case *ast.UnaryExpr:
		if n.Op == token.AND && types.Identical(r.info.TypeOf(n.X), r.text) {
			r.reportf(n, "a reader with the address of SQL can change it")
		}
	case *ast.TypeAssertExpr:
		if n.Type != nil && r.holds(r.info.TypeOf(n.Type)) {
			r.reportf(n, "a type assertion brings SQL from somewhere")
		}
	case *ast.BasicLit:
		r.constant(n, n.Pos())
	case *ast.Ident:
		if of := r.info.Uses[n]; of != nil {
			r.constant(n, of.Pos())
		}
	}
}

// constant notes where a constant of SQL is written.
func (r *sqlReview) constant(e ast.Expr, written token.Pos) {
	if tv := r.info.Types[e]; tv.Value != nil && types.Identical(tv.Type, r.text) {
		r.constants[filepath.Base(r.fset.Position(written).Filename)] = true
	}
}

// call looks at conversions and at functions of others.
func (r *sqlReview) call(n *ast.CallExpr) {
	callee := r.info.Types[n.Fun]
	if callee.IsType() {
		switch tv := r.info.Types[n]; {
		case tv.Value != nil: // A constant, wherever it stands.
		case r.holds(callee.Type):
			r.reportf(n, "a conversion makes SQL of a value")
		case isTypeParam(callee.Type):
			r.reportf(n, "a conversion to a type parameter may make SQL of a value")
		}
		return
	}
	if callee.IsBuiltin() {
		return // They make no text.
	}
	signature, ok := callee.Type.Underlying().(*types.Signature)
	if !ok || r.ours(n.Fun) {
		return
	}
	if r.holds(signature.Results()) {
		r.reportf(n, "a function of another package returns SQL")
	}
	for _, arg := range n.Args {
		if _, pointer := r.info.TypeOf(arg).Underlying().(*types.Pointer); pointer && r.holds(r.info.TypeOf(arg)) {
			r.reportf(arg, "a function of another package can change SQL")
		}
	}
}

// ours reports whether a function is one of the package, or a value in it.
func (r *sqlReview) ours(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return r.info.Uses[f] != nil && r.info.Uses[f].Pkg() == r.pkg
	case *ast.SelectorExpr:
		return r.info.Uses[f.Sel] != nil && r.info.Uses[f.Sel].Pkg() == r.pkg
	case *ast.IndexExpr:
		return r.ours(f.X)
	case *ast.ParenExpr:
		return r.ours(f.X)
	case *ast.FuncLit:
		return true
	}
	return false
}

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// packageSource parses the package's own files and finds what they import.
func packageSource(t *testing.T) (*token.FileSet, []*ast.File, func(string) (io.ReadCloser, error)) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return fset, files, exports(t, ".")
}

// exports finds the compiled packages that some package is built from.
func exports(t *testing.T, of ...string) func(string) (io.ReadCloser, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, of...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	found := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) { //nolint:musttag // It decodes the output of go list, whose names match.
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(found[path]) }
}
