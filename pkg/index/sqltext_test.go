package index

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clusterpedia runs the SQL it is sent, so no text of a caller may become SQL.
func TestNoTextBecomesSQL(t *testing.T) {
	fset, files, lookup := packageSource(t)
	r, err := reviewSQL(fset, files, lookup)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.violations {
		t.Error(v)
	}
	if diff := cmp.Diff([]string{"statements.go"}, slices.Sorted(maps.Keys(r.constants))); diff != "" {
		t.Errorf("SQL is written in other files (-want +got):\n%s", diff)
	}
	t.Run("statements", func(t *testing.T) { reviewStatements(t, r, files) })
	t.Run("orders", func(t *testing.T) { reviewOrders(t, r, files) })
}

// reviewStatements proves that a statement that is sent is a constant or was
// assembled by a clause, and that clauses are assembled of sqlText alone.
func reviewStatements(t *testing.T, r *sqlReview, files []*ast.File) {
	writers, sent := map[string]bool{}, 0
	for _, f := range files {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			encoded := map[types.Object]bool{}
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if call, ok := n.Rhs[0].(*ast.CallExpr); ok && isMethod(r, call, "clause", "encode") {
						encoded[r.info.ObjectOf(n.Lhs[0].(*ast.Ident))] = true
					}
				case *ast.CallExpr:
					if on, method := receiver(n); on != nil && strings.HasPrefix(method, "Write") && types.ExprString(on) == "c.text" {
						writers[fn.Name.Name] = true
					}
				}
				return true
			})
			for _, value := range valuesOf(r, fn, "whereSQLStatement") {
				sent++
				id, isIdent := value.(*ast.Ident)
				call, isCall := value.(*ast.CallExpr)
				switch {
				case r.info.Types[value].Value != nil:
				case isIdent && encoded[r.info.Uses[id]]:
				case isCall && len(call.Args) == 1 && types.Identical(r.info.TypeOf(call.Args[0]), r.text):
				default:
					t.Errorf("%s sends %s as a statement", fn.Name.Name, types.ExprString(value))
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"add": true}, writers); diff != "" {
		t.Errorf("these write into a clause; only add takes sqlText (-want +got):\n%s", diff)
	}
	if sent < 4 {
		t.Errorf("only %d places were found that send a statement; is the parameter called otherwise?", sent)
	}
}

// reviewOrders proves that what is sent as orderby, which becomes SQL as it is,
// is made by functions that are given nothing but an Order, which holds no text.
func reviewOrders(t *testing.T, r *sqlReview, files []*ast.File) {
	sent := 0
	for _, f := range files {
		for _, value := range valuesOf(r, f, "orderby") {
			sent++
			call, ok := value.(*ast.CallExpr)
			if !ok {
				t.Errorf("orderby is %s, which is no call", types.ExprString(value))
				continue
			}
			for _, arg := range call.Args {
				if got := r.info.TypeOf(arg); !types.Identical(got, r.pkg.Scope().Lookup("Order").Type()) {
					t.Errorf("%s is given a %s", types.ExprString(call), got)
				}
			}
		}
	}
	if sent != 1 {
		t.Errorf("orderby is sent from %d places, want one", sent)
	}
	order := r.pkg.Scope().Lookup("Order").Type().Underlying().(*types.Struct)
	for field := range order.Fields() {
		if basic, ok := field.Type().Underlying().(*types.Basic); !ok || basic.Info()&types.IsString != 0 {
			t.Errorf("Order.%s is a %s, which can hold text", field.Name(), field.Type())
		}
	}
}

// valuesOf finds what a URL parameter is set to.
func valuesOf(r *sqlReview, in ast.Node, param string) []ast.Expr {
	var values []ast.Expr
	is := func(e ast.Expr) bool {
		tv := r.info.Types[e]
		return tv.Value != nil && strings.Trim(tv.Value.ExactString(), `"`) == param
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if list, ok := n.Value.(*ast.CompositeLit); ok && is(n.Key) {
				values = append(values, list.Elts...)
			}
		case *ast.CallExpr:
			if on, method := receiver(n); on != nil && (method == "Set" || method == "Add") && is(n.Args[0]) {
				values = append(values, n.Args[1])
			}
		}
		return true
	})
	return values
}

func receiver(call *ast.CallExpr) (ast.Expr, string) {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.X, s.Sel.Name
	}
	return nil, ""
}

func isMethod(r *sqlReview, call *ast.CallExpr, typ, method string) bool {
	on, name := receiver(call)
	if on == nil || name != method {
		return false
	}
	t := r.info.TypeOf(on)
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return types.Identical(t, r.pkg.Scope().Lookup(typ).Type())
}

// The review has to find what it looks for.
func TestReviewFinds(t *testing.T) {
	lookup := exports(t, "encoding/json", "slices", "fmt")
	for _, tt := range []struct{ name, source, want string }{
		{"a constant is fine", `const a sqlText = "x"; var b = a + "y" + sqlText("z")`, ""},
		{"its flow is fine", `func f(t sqlText) []sqlText { return []sqlText{t, t + " AND "} }; var s = string(f("x")[0])`, ""},
		{"conversion", `func f(s string) sqlText { return sqlText(s) }`, "a conversion makes SQL of a value"},
		{"conversion of a slice's text", `func f(s []byte) sqlText { return sqlText(s) }`, "a conversion makes SQL of a value"},
		{"struct conversion", `type a struct{ t sqlText }; type b struct{ t sqlText }; func f(x a) b { return b(x) }`, "a conversion makes SQL of a value"},
		{"generic conversion", `func f[T ~string](s string) T { return T(s) }; var a = f[sqlText]("x")`, "a conversion to a type parameter may make SQL of a value"},
		{"another name", `type other sqlText`, "other is another name of sqlText"},
		{"an alias", `type other = sqlText`, "other is another name of sqlText"},
		{"decoding", `import "encoding/json"; type box struct{ T sqlText }; func f(b []byte, v *box) { _ = json.Unmarshal(b, v) }`, "a function of another package can change SQL"},
		{"an address", `var a sqlText; var b = &a`, "a reader with the address of SQL can change it"},
		{"a function of another package", `import "slices"; func f(t []sqlText) []sqlText { return slices.Clone(t) }`, "a function of another package returns SQL"},
		{"an assertion", `func f(v any) sqlText { return v.(sqlText) }`, "a type assertion brings SQL from somewhere"},
		{"reflection", `import _ "unsafe"`, "the package unsafe can change any value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fset := token.NewFileSet()
			var imports, rest []string
			for part := range strings.SplitSeq(tt.source, ";") {
				if strings.HasPrefix(strings.TrimSpace(part), "import") {
					imports = append(imports, part)
					continue
				}
				rest = append(rest, part)
			}
			source := "package index\n" + strings.Join(imports, "\n") + "\ntype sqlText string\n" + strings.Join(rest, "\n")
			f, err := parser.ParseFile(fset, "x.go", source, 0)
			if err != nil {
				t.Fatal(err)
			}
			r, err := reviewSQL(fset, []*ast.File{f}, lookup)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(r.violations, "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
