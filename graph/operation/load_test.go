package operation_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
)

var schema = gqlparser.MustLoadSchema(&ast.Source{Input: `
	type Query { house(name: ID!): House  houses(first: Int): Houses! }
	type Mutation { paint(name: ID!, colour: String!): Painted }
	type Subscription { houseChanged: House }
	type Houses { nodes: [House!]! totalCount: Int }
	type House { name: ID! colour: String doors: [Door!]! }
	type Door { width: Int }
	type Painted { house: House token: String }
`})

func TestLoad(t *testing.T) {
	const comment = "# Reads a house.\n#\n# It stands somewhere.\n#\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"it does not fit the schema": {"GetHouse", comment + "# http: GET /api/v1/houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name roof } }", `Cannot query field "roof"`},
		"it has another name":        {"GetHouse", comment + "# http: GET /api/v1/houses/{name}\n# stability: beta\nquery House($name: ID!) { house(name: $name) { name colour } }", "name it GetHouse"},
		"no comment":                 {"GetHouse", "# http: GET /api/v1/houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "begins with no comment"},
		"no method":                  {"GetHouse", comment + "# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "# http: METHOD /path"},
		"no stability":               {"GetHouse", comment + "# http: GET /api/v1/houses/{name}\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "# stability"},
		"a foreign path":             {"GetHouse", comment + "# http: GET /houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "does not begin with"},
		"a path with capitals":       {"GetHouse", comment + "# http: GET /api/v1/Houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", `the segment "Houses"`},
		"a variable that is none":    {"GetHouse", comment + "# http: GET /api/v1/houses/{house}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "the path has {house}"},
		"a mutation as GET":          {"Paint", comment + "# http: GET /api/v1/houses/{name}\n# stability: beta\nmutation Paint($name: ID!, $colour: String!) { paint(name: $name, colour: $colour) { token house { name } } }", "another method than GET"},
		"a query as DELETE":          {"GetHouse", comment + "# http: DELETE /api/v1/houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }", "is GET, or POST"},
		"a list alone":               {"GetDoors", comment + "# http: GET /api/v1/houses/{name}/doors\n# stability: beta\nquery GetDoors($name: ID!) { house(name: $name) { doors { width } } }", "the answer would be the list doors"},
		"two fields of the root":     {"GetTwo", comment + "# http: GET /api/v1/two\n# stability: beta\nquery GetTwo { houses { totalCount } others: houses { totalCount } }", "select one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := operation.Load(fstest.MapFS{"houses/" + c.file + ".graphql": {Data: []byte(c.text)}}, schema)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file+".graphql") {
				t.Errorf("got the error %v, want %q with the file", err, c.want)
			}
		})
	}
}

func TestLoadReads(t *testing.T) {
	files := fstest.MapFS{
		"houses/GetHouse.graphql":   {Data: []byte("# Reads a house. \n#\n# It stands\n# somewhere.\n#\n# http: GET /api/v1/houses/{name}\n# stability: stable\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }")},
		"houses/ListHouses.graphql": {Data: []byte("# Lists houses.\n#\n# http: GET /api/v1/houses\n# stability: beta\nquery ListHouses($first: Int) { houses(first: $first) { nodes { name } totalCount } }")},
	}
	all, err := operation.Load(files, schema)
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	got := all[1]
	if got.Name != "GetHouse" || got.Noun != "houses" || got.Summary != "Reads a house." || got.Description != "It stands somewhere." ||
		got.Stability != operation.Stable || got.Method != http.MethodGet || got.Path != "/api/v1/houses/{name}" || !got.InPath("name") || !got.Reads() {
		t.Errorf("got %+v", got)
	}
	if got := strings.Join(got.Result, "."); got != "house" {
		t.Errorf("the answer is %s", got)
	}
}

func TestLoadRefusesTwins(t *testing.T) {
	one := "# Reads a house.\n#\n# http: GET /api/v1/houses/{name}\n# stability: beta\nquery GetHouse($name: ID!) { house(name: $name) { name colour } }"
	_, err := operation.Load(fstest.MapFS{"houses/GetHouse.graphql": {Data: []byte(one)}, "houses/ReadHouse.graphql": {Data: []byte(strings.ReplaceAll(one, "GetHouse", "ReadHouse"))}}, schema)
	if err == nil || !strings.Contains(err.Error(), "GetHouse and ReadHouse are both GET /api/v1/houses/{}") {
		t.Errorf("got %v", err)
	}
}

func TestUnwrap(t *testing.T) {
	op := &operation.Operation{Result: []string{"instance", "workload"}}
	for data, want := range map[string]string{
		`{"instance":{"workload":{"name":"a","of":{"b":1}}}}`: `{"name":"a","of":{"b":1}}`,
		`{"instance":{"workload":{}}}`:                        `{}`,
		`{"instance":{"workload":null}}`:                      "",
		`{"instance":null}`:                                   "",
		`null`:                                                "",
		"":                                                    "",
	} {
		if got := op.Unwrap([]byte(data)); string(got) != want {
			t.Errorf("of %s: got %s", data, got)
		}
	}
}
