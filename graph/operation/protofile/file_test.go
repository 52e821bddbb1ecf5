package protofile_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bufbuild/protocompile"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/protofile"
)

const houses = `
	enum Colour { RED GREEN }
	input HouseFilter { colours: [Colour!] and: [HouseFilter!] builtAfter: Time }
	scalar Time
	scalar JSON
	type Query { houses(filter: HouseFilter, first: Int! = 5): Houses! }
	type Subscription { houseChanged: Change! }
	type Change { cursor: String! house: House }
	type Houses { nodes: [House!]! totalCount: Int }
	type House { name: ID! colour: Colour! kubeSystemID: String plan: JSON built: Time doors: [Door!]! grid: [[Int!]!] }
	type Door { width: Int }
`

// define writes the definition of an operation that selects this of each house.
func define(t *testing.T, schemaText, selected string, numbers protofile.Numbers) (string, error) {
	t.Helper()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: schemaText})
	operations, err := operation.Load(fstest.MapFS{
		"houses/ListHouses.graphql": {Data: []byte("# Lists houses.\n#\n# http: GET /api/v1/houses\n# stability: beta\n" +
			"query ListHouses($filter: HouseFilter, $first: Int! = 5) { houses(filter: $filter, first: $first) { nodes { __typename name " + selected + " } totalCount } }")},
		"houses/WatchHouses.graphql": {Data: []byte("# Follows houses.\n#\n# http: GET /api/v1/watch/houses\n# stability: beta\n" +
			"subscription WatchHouses { houseChanged { cursor house { name } } }")},
	}, schema)
	if err != nil {
		t.Fatal(err)
	}
	return protofile.Of(operations, schema, numbers)
}

func TestOf(t *testing.T) {
	text, err := define(t, houses, "colour kubeSystemID plan built doors { width }", protofile.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  // Lists houses.\n  rpc ListHouses(ListHousesRequest) returns (ListHousesResponse) {\n    option idempotency_level = NO_SIDE_EFFECTS;\n  }\n",
		"rpc WatchHouses(WatchHousesRequest) returns (stream WatchHousesResponse)",
		"  HouseFilter filter = 1;\n  optional int32 first = 2;\n",
		"  repeated Colour.Value colours = 1;\n  repeated HouseFilter and = 2;\n  google.protobuf.Timestamp built_after = 3;\n",
		"  optional string typename = 1 [json_name = \"__typename\"];\n",
		"  optional string name = 2;\n  Colour.Value colour = 3;\n  optional string kube_system_id = 4 [json_name = \"kubeSystemID\"];\n  google.protobuf.Value plan = 5;\n  google.protobuf.Timestamp built = 6;\n  repeated Door doors = 7;\n",
		"    UNSPECIFIED = 0;\n    RED = 1;\n    GREEN = 2;\n",
	} {
		if !strings.Contains(withoutComments(text), withoutComments(want)) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"houses.proto": text}),
	})}
	if _, err := compiler.Compile(context.Background(), "houses.proto"); err != nil {
		t.Error(err)
	}
	if _, err := define(t, houses, "grid", protofile.Numbers{}); err == nil || !strings.Contains(err.Error(), "list of lists") {
		t.Errorf("a list of lists: %v", err)
	}
	if _, err := define(t, houses, "a: colour doors { width } colour: kubeSystemID b: doors { width: __typename }", protofile.Numbers{}); err == nil || !strings.Contains(err.Error(), "Door.width is both") {
		t.Errorf("two types: %v", err)
	}
}

func withoutComments(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "//") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}

// TestNumbers changes a schema as its clients do not notice, and as it breaks them.
func TestNumbers(t *testing.T) {
	numbers := protofile.Numbers{}
	if _, err := define(t, houses, "colour doors { width }", numbers); err != nil {
		t.Fatal(err)
	}
	reread := func() protofile.Numbers {
		text, err := numbers.Write()
		if err != nil {
			t.Fatal(err)
		}
		again, err := protofile.ReadNumbers(text)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	// A field before the others, one that is removed and a value between two.
	text, err := define(t, strings.Replace(houses, "RED GREEN", "RED BLUE GREEN", 1), "plan doors { width }", reread())
	if err != nil {
		t.Fatal(err)
	}
	text = withoutComments(text)
	for _, want := range []string{"reserved 3;\nreserved \"colour\";", "google.protobuf.Value plan = 5;", "repeated Door doors = 4;", "RED = 1;\nBLUE = 3;\nGREEN = 2;"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in:\n%s", want, text)
		}
	}
	if _, err := define(t, strings.Replace(houses, "width: Int", "width: String", 1), "colour doors { width }", reread()); err == nil || !strings.Contains(err.Error(), "Door.width was") {
		t.Errorf("another type: %v", err)
	}
	fewer := reread()
	fewer[protofile.Service]["GetHouse"] = protofile.Entry{Type: "unary"}
	if _, err := define(t, houses, "colour", fewer); err == nil || !strings.Contains(err.Error(), "GetHouse was removed") {
		t.Errorf("without a method: %v", err)
	}
	streams := reread()
	streams[protofile.Service]["ListHouses"] = protofile.Entry{Type: "server stream"}
	if _, err := define(t, houses, "colour", streams); err == nil || !strings.Contains(err.Error(), "would be unary") {
		t.Errorf("a method that no longer streams: %v", err)
	}
	value := reread()
	value["Colour.Value"]["BLUE"] = protofile.Entry{Number: 3}
	if text, err := define(t, houses, "colour", value); err != nil || !strings.Contains(text, "reserved 3;\n    reserved \"BLUE\";") {
		t.Errorf("a value that is removed: %v:\n%s", err, text)
	}
}
