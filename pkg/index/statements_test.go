package index

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// dialects are all dialects, with what is particular to them.
var dialects = []struct {
	*dialect
	field, created string
	path           func(steps ...string) string
}{
	{
		dialect: sqliteDialect,
		field:   "CAST(JSON_EXTRACT(object, ?) AS TEXT)",
		created: "unixepoch(created_at)",
		path:    func(steps ...string) string { return `$."` + strings.Join(steps, `"."`) + `"` },
	},
	{
		dialect: postgresDialect,
		field:   "(object #>> CAST(? AS text[]))",
		created: "created_at",
		path:    func(steps ...string) string { return `{"` + strings.Join(steps, `","`) + `"}` },
	},
}

// at stands in a table for the parameter of a field's path, which each dialect
// writes in its own way.
type at string

// golden is a statement and its parameters as a table has them, for any dialect.
type golden struct {
	text string
	args []any
}

// words puts the words of a dialect into a text: FIELD and CREATED
// stand for them.
func words(of *dialect, text string) string {
	for _, d := range dialects {
		if d.dialect == of {
			text = strings.NewReplacer("FIELD", d.field, "CREATED", d.created).Replace(text)
		}
	}
	return text
}

// check compares a clause of every dialect with the golden one.
func (g golden) check(t *testing.T, why string, build func(*dialect, *clause)) {
	t.Helper()
	for _, d := range dialects {
		one := golden{text: g.text}
		for _, arg := range g.args {
			if path, ok := arg.(at); ok {
				arg = d.path(strings.Split(string(path), " ")...)
			}
			one.args = append(one.args, arg)
		}
		one.checkIn(t, d.dialect, why, build)
	}
}

func (g golden) checkIn(t *testing.T, d *dialect, why string, build func(*dialect, *clause)) {
	t.Helper()
	var got clause
	build(d, &got)
	if diff := cmp.Diff(words(d, g.text), got.text.String()); diff != "" {
		t.Errorf("%s: %s (-want +got):\n%s", d.name, why, diff)
	}
	if diff := cmp.Diff(g.args, got.args); diff != "" {
		t.Errorf("%s: %s: parameters (-want +got):\n%s", d.name, why, diff)
	}
	if n := strings.Count(got.text.String(), "?"); n != len(got.args) {
		t.Errorf("%s: %d placeholders for %d parameters", d.name, n, len(got.args))
	}
}

func TestFilterStatements(t *testing.T) {
	alpha := []string{"k-alpha"}
	selector := func(text string) labels.Selector {
		s, err := ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		query ListQuery
		golden
		why string
	}{
		{"clusters", ListQuery{Clusters: []string{"k-alpha", "k-beta"}}, golden{"cluster IN ?", []any{[]string{"k-alpha", "k-beta"}}}, "they are always named"},
		{"no cluster", ListQuery{}, golden{"cluster IN ?", []any{[]string(nil)}}, "no clusters are never all clusters"},
		{"namespaces", ListQuery{Clusters: alpha, Namespaces: []string{"shop", "ops"}}, golden{"cluster IN ? AND namespace IN ?", []any{alpha, []string{"shop", "ops"}}}, "a list is one parameter"},
		{"names", ListQuery{Clusters: alpha, Names: []string{"a"}}, golden{"cluster IN ? AND name IN ?", []any{alpha, []string{"a"}}}, "names are exact"},
		{"owners", ListQuery{Clusters: alpha, Owners: []string{"u"}}, golden{"cluster IN ? AND owner_uid IN ? AND owner_uid <> ''", []any{alpha, []string{"u"}}}, "objects without an owner have an empty one"},
		{
			"name contains", ListQuery{Clusters: alpha, NameContains: "100%_"},
			golden{"cluster IN ? AND REPLACE(name, ?, '') <> name", []any{alpha, "100%_"}}, "LIKE would take % and _ for wildcards",
		},
		{
			"fields", ListQuery{Clusters: alpha, Fields: []FieldEquals{{Path: []string{"type"}, Value: "Warning"}, {Path: []string{"involvedObject", "kind"}, Value: "Pod"}}},
			golden{"cluster IN ? AND FIELD = ? AND FIELD = ?", []any{alpha, at("type"), "Warning", at("involvedObject kind"), "Pod"}}, "all have to be equal",
		},
		{
			"annotation", ListQuery{Clusters: alpha, Fields: []FieldEquals{{Path: []string{"metadata", "annotations", "policy.karmada.io/name.x"}, Value: "v"}}},
			golden{"cluster IN ? AND FIELD = ?", []any{alpha, at("metadata annotations policy.karmada.io/name.x"), "v"}}, "a dot or slash in a step does not begin another",
		},
		{"label exists", ListQuery{Clusters: alpha, Selector: selector("app")}, golden{"cluster IN ? AND FIELD IS NOT NULL", []any{alpha, at("metadata labels app")}}, "whatever its value"},
		{"label missing", ListQuery{Clusters: alpha, Selector: selector("!app")}, golden{"cluster IN ? AND FIELD IS NULL", []any{alpha, at("metadata labels app")}}, "no such label"},
		{"label equals", ListQuery{Clusters: alpha, Selector: selector("app=web")}, golden{"cluster IN ? AND FIELD IN ?", []any{alpha, at("metadata labels app"), []string{"web"}}}, "one value is a list of one"},
		{"label double equals", ListQuery{Clusters: alpha, Selector: selector("app==web")}, golden{"cluster IN ? AND FIELD IN ?", []any{alpha, at("metadata labels app"), []string{"web"}}}, "another spelling"},
		{"label in", ListQuery{Clusters: alpha, Selector: selector("app in (web,api)")}, golden{"cluster IN ? AND FIELD IN ?", []any{alpha, at("metadata labels app"), []string{"api", "web"}}}, "values are sorted, so that the text of a query is stable"},
		{
			"label differs", ListQuery{Clusters: alpha, Selector: selector("app!=web")},
			golden{"cluster IN ? AND (FIELD IS NULL OR FIELD NOT IN ?)", []any{alpha, at("metadata labels app"), at("metadata labels app"), []string{"web"}}}, "an object without the label differs too",
		},
		{
			"label not in", ListQuery{Clusters: alpha, Selector: selector("app notin (web,api)")},
			golden{"cluster IN ? AND (FIELD IS NULL OR FIELD NOT IN ?)", []any{alpha, at("metadata labels app"), at("metadata labels app"), []string{"api", "web"}}}, "an object without the label has none of the values",
		},
		{
			"label with a prefix", ListQuery{Clusters: alpha, Selector: selector("app.kubernetes.io/name=web")},
			golden{"cluster IN ? AND FIELD IN ?", []any{alpha, at("metadata labels app.kubernetes.io/name"), []string{"web"}}}, "the whole key is one step",
		},
		{
			"several requirements", ListQuery{Clusters: alpha, Selector: selector("app=web,!tier")},
			golden{"cluster IN ? AND FIELD IN ? AND FIELD IS NULL", []any{alpha, at("metadata labels app"), []string{"web"}, at("metadata labels tier")}}, "all have to hold",
		},
		{"empty selector", ListQuery{Clusters: alpha, Selector: labels.Everything()}, golden{"cluster IN ?", []any{alpha}}, "it asks for nothing"},
		{
			"everything", ListQuery{
				Clusters: alpha, Namespaces: []string{"shop"}, Names: []string{"a"}, NameContains: "x", Fields: []FieldEquals{{Path: []string{"type"}, Value: "v"}},
				Selector: selector("app"),
			},
			golden{
				"cluster IN ? AND namespace IN ? AND name IN ? AND REPLACE(name, ?, '') <> name AND FIELD = ? AND FIELD IS NOT NULL",
				[]any{alpha, []string{"shop"}, []string{"a"}, "x", at("type"), "v", at("metadata labels app")},
			}, "parameters are in the order of their placeholders",
		},
		{
			"position and size are no filters", ListQuery{Clusters: alpha, Types: []Type{Jobs}, After: &Position{Name: "x"}, Limit: 7, WithCount: true, Detail: Metadata, Order: Order{Desc: true}},
			golden{"cluster IN ?", []any{alpha}}, "what is counted does not depend on the page",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.check(t, tt.why, func(d *dialect, c *clause) { d.filters(c, &tt.query) })
		})
	}
}

// A path is one parameter whatever its steps hold: PostgreSQL's array syntax and
// SQLite's path syntax both have quotes.
func TestFieldPaths(t *testing.T) {
	for _, tt := range []struct {
		steps            []string
		sqlite, postgres string
	}{
		{[]string{"type"}, `$."type"`, `{"type"}`},
		{[]string{"spec", "a.b"}, `$."spec"."a.b"`, `{"spec","a.b"}`},
		{[]string{"spec", "a,b"}, `$."spec"."a,b"`, `{"spec","a,b"}`},
		{[]string{"spec", `a\b`}, `$."spec"."a\b"`, `{"spec","a\\b"}`},
		{[]string{"spec", "null"}, `$."spec"."null"`, `{"spec","null"}`},
	} {
		got := []any{sqliteDialect.fieldPath(tt.steps), postgresDialect.fieldPath(tt.steps)}
		if diff := cmp.Diff([]any{tt.sqlite, tt.postgres}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.steps, diff)
		}
	}
	if got, want := postgresDialect.fieldPath([]string{`a"b`}), `{"a\"b"}`; got != want {
		t.Errorf("a quote would end the step: got %s, want %s", got, want)
	}
}
