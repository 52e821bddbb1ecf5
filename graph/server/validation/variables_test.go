package validation

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

const variableSchema = `
enum Kind { JOB POD }
scalar JSON
input In { kind: Kind! n: Int! = 3 s: String id: ID f: Float b: Boolean list: [Int!] grid: [[Int]] in: In ins: [In!] json: JSON }
type Query { f: Int }`

// TestCoerce is section 6.1.2 of the GraphQL specification, with what is said of a
// variable that does not fit.
func TestCoerce(t *testing.T) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: variableSchema})
	for _, tt := range []struct {
		define, given string
		want          string // in JSON
		wrong         string // the variable and the way from it
		says          string
		why           string
	}{
		{define: "$a:Int", given: `{}`, want: `{}`, why: "what is not given is left out, and is not null"},
		{define: "$a:Int", given: `{"a":null}`, want: `{"a":null}`},
		{define: "$a:Int=5", given: `{}`, want: `{}`, why: "gqlparser fills in the default"},
		{define: "$a:Int!=5", given: `{"a":null}`, wrong: "a", says: "is null", why: "the default is for what is missing"},
		{define: "$a:Int!", given: `{}`, wrong: "a", says: "is missing"},
		{define: "$a:Int!", given: `{"a":null}`, wrong: "a", says: "is null"},
		{define: "$a:Int", given: `{"a":5,"b":"x"}`, want: `{"a":5}`, why: "variables that are not defined are not read"},
		{define: "$a:Int", given: `{"a":"5"}`, wrong: "a", says: "is a string"},
		{define: "$a:Int", given: `{"a":5.5}`, wrong: "a", says: "another number"},
		{define: "$a:Int", given: `{"a":true}`, wrong: "a", says: "a boolean"},
		{define: "$a:Int", given: `{"a":2147483648}`, wrong: "a", says: "from -2147483648 to 2147483647"},
		{define: "$a:String", given: `{"a":5}`, wrong: "a", says: "is a number"},
		{define: "$a:ID", given: `{"a":9007199254740993}`, want: `{"a":"9007199254740993"}`, why: "every digit counts"},
		{define: "$a:Boolean", given: `{"a":"true"}`, wrong: "a", says: "is a string"},
		{define: "$a:Float", given: `{"a":2}`, want: `{"a":2}`},
		{define: "$a:Float", given: `{"a":"2"}`, wrong: "a", says: "is a string"},
		{define: "$a:Kind", given: `{"a":"JOB"}`, want: `{"a":"JOB"}`},
		{define: "$a:Kind", given: `{"a":"job"}`, wrong: "a", says: "the enum Kind", why: "names are case-sensitive"},
		{define: "$a:Kind", given: `{"a":0}`, wrong: "a", says: "is a number"},
		{define: "$a:JSON", given: `{"a":{"n":9007199254740993}}`, want: `{"a":{"n":9007199254740993}}`, why: "it is what it is"},

		{define: "$a:[Int!]", given: `{"a":7}`, want: `{"a":[7]}`, why: "one value is a list of it"},
		{define: "$a:[Int!]", given: `{"a":[]}`, want: `{"a":[]}`, why: "an empty list is not null"},
		{define: "$a:[Int!]", given: `{"a":[1,"2"]}`, wrong: "a[1]", says: "is a string"},
		{define: "$a:[Int!]", given: `{"a":[1,null]}`, wrong: "a[1]", says: "is null"},
		{define: "$a:[Int]", given: `{"a":[1,null]}`, want: `{"a":[1,null]}`},
		{define: "$a:[Int!]", given: `{"a":"1"}`, wrong: "a", says: "is a string", why: "there is no first item"},
		{define: "$a:[[Int]]", given: `{"a":[[1],2,null]}`, want: `{"a":[[1],[2],null]}`},
		{define: "$a:Int", given: `{"a":[1]}`, wrong: "a", says: "is a list", why: "a list of one is no value"},

		{define: "$a:In", given: `{"a":{"kind":"JOB"}}`, want: `{"a":{"kind":"JOB"}}`, why: "gqlgen fills in defaults of inputs"},
		{define: "$a:In", given: `{"a":{}}`, wrong: "a.kind", says: "is missing"},
		{define: "$a:In", given: `{"a":{"kind":null}}`, wrong: "a.kind", says: "is null"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","n":null}}`, wrong: "a.n", says: "is null", why: "the default is for what is missing"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","nope":1}}`, wrong: "a.nope", says: "is not a field of In"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","__typename":"In"}}`, wrong: "a.__typename", says: "is not a field of In"},
		{define: "$a:In", given: `{"a":"x"}`, wrong: "a", says: "must be an object (In), and is a string"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","s":5}}`, wrong: "a.s", says: "is a number"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","n":"2"}}`, wrong: "a.n", says: "is a string"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","n":3000000000}}`, wrong: "a.n", says: "another number"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","list":[1,2.5]}}`, wrong: "a.list[1]", says: "another number"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","ins":[{"kind":"POD"},{"kind":"POD","in":{"kind":"JOB","b":"x"}}]}}`, wrong: "a.ins[1].in.b", says: "is a string"},
		{define: "$a:In", given: `{"a":{"kind":"JOB","id":5,"f":1,"b":true,"grid":[1],"json":"x"}}`, want: `{"a":{"kind":"JOB","id":"5","f":1,"b":true,"grid":[[1]],"json":"x"}}`},
	} {
		doc, err := parser.ParseQuery(&ast.Source{Input: "query(" + tt.define + "){f}"})
		if err != nil {
			t.Fatal(err)
		}
		got, wrong := coerce(schema, doc.Operations[0], object(t, tt.given))
		switch {
		case wrong != nil && (tt.wrong != wrong.variable+wrong.path || !strings.Contains(wrong.message, tt.says)):
			t.Errorf("%s of %s: got %+v, want %q to be wrong because it %s: %s", tt.define, tt.given, wrong, tt.wrong, tt.says, tt.why)
		case wrong == nil && tt.wrong != "":
			t.Errorf("%s of %s: got %v, want %q to be wrong: %s", tt.define, tt.given, got, tt.wrong, tt.why)
		case wrong == nil:
			text, _ := json.Marshal(got)
			if d := cmp.Diff(object(t, tt.want), object(t, string(text))); d != "" {
				t.Errorf("%s of %s (-want +got): %s\n%s", tt.define, tt.given, tt.why, d)
			}
		}
	}
}

// object reads JSON as the server does.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	if err := dec.Decode(&o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

// TestCoerceLeavesWhatIsGivenAlone: a client's variables may be those of several requests.
func TestCoerceLeavesWhatIsGivenAlone(t *testing.T) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: variableSchema})
	doc, err := parser.ParseQuery(&ast.Source{Input: "query($a:In){f}"})
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"a":{"kind":"JOB","id":5,"list":[1]}}`
	given := object(t, text)
	if _, wrong := coerce(schema, doc.Operations[0], given); wrong != nil {
		t.Fatal(wrong)
	}
	if d := cmp.Diff(object(t, text), given); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}
