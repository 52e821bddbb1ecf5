package writes

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	looked "github.com/kairship-io/kairship/test/internal/picture"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// facet is one of the things that have to be tried of every mutation.
type facet string

const (
	wentWell   facet = "goes well"
	tookEffect facet = "has an effect that is looked at where it matters"
	wroteNone  facet = "writes nothing in a dry run"
	conflicted facet = "meets a conflict"
	invalid    facet = "refuses an input that it names"
	wrongUser  facet = "refuses others"
)

var facets = []facet{wentWell, tookEffect, wroteNone, conflicted, invalid, wrongUser}

// neverConflict are the mutations that nothing can conflict with, and why.
var neverConflict = map[string]string{}

// record is what the tests of this package tried, by what went over the wire.
var record = struct {
	sync.Mutex
	facets map[string]map[facet]bool
	// inputs are the fields of inputs that had a value; values of enums follow them.
	inputs map[string]bool
}{facets: map[string]map[facet]bool{}, inputs: map[string]bool{}}

func tried(mutation string, f facet) {
	record.Lock()
	defer record.Unlock()
	if record.facets[mutation] == nil {
		record.facets[mutation] = map[facet]bool{}
	}
	record.facets[mutation][f] = true
}

// follows waits for what a mutation has to lead to: in the members where it has
// an effect there, otherwise in the instance or in the global cluster.
func follows(t testing.TB, mutation, what string, check func(ctx context.Context) error) {
	t.Helper()
	poll.Until(t, within, what, check)
	tried(mutation, tookEffect)
}

// recorded has a client's mutations recorded, and its dry runs looked after.
func recorded(t testing.TB, c *gql.Client) *gql.Client {
	t.Helper()
	transport := c.HTTP.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	c.HTTP.Transport = &recorder{t: t, next: transport}
	return c
}

type recorder struct {
	t    testing.TB
	next http.RoundTripper
}

var named = regexp.MustCompile(`^\s*mutation[^{]*\{\s*(?:\w+:\s*)?(\w+)\(input: \$input\)`)

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	var sent struct {
		Query     string `json:"query"`
		Variables struct {
			Input map[string]any `json:"input"`
		} `json:"variables"`
	}
	// What is no JSON is sent on purpose.
	_ = json.Unmarshal(body, &sent)
	name := named.FindStringSubmatch(sent.Query)
	if name == nil {
		return r.next.RoundTrip(req)
	}
	mutation, input := name[1], sent.Variables.Input
	dryRun, _ := input["dryRun"].(bool)
	var before map[string]string
	if dryRun {
		before = picture(r.t, input)
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	note(mutation, input, dryRun, answer)
	if dryRun {
		if changes := looked.Differences(before, picture(r.t, input)); len(changes) > 0 {
			r.t.Errorf("a dry run of %s(%v) changed %s", mutation, input, strings.Join(changes, ", "))
		}
	}
	return resp, nil
}

// refusal is an error of an answer, or of one of several objects in it.
type refusal struct {
	Code     string `json:"code"`
	Argument string `json:"argument"`
}

func note(mutation string, input map[string]any, dryRun bool, answer []byte) {
	noteInputs(mutation, input)
	var got struct {
		Data   map[string]map[string]any `json:"data"`
		Errors []struct {
			Extensions refusal `json:"extensions"`
		} `json:"errors"`
	}
	if json.Unmarshal(answer, &got) != nil {
		return
	}
	var refusals []refusal
	for _, e := range got.Errors {
		refusals = append(refusals, e.Extensions)
	}
	for _, payload := range got.Data {
		results, _ := payload["results"].([]any)
		for _, result := range results {
			of, _ := result.(map[string]any)
			if e, ok := of["error"].(map[string]any); ok {
				refusals = append(refusals, refusal{Code: fmt.Sprint(e["code"]), Argument: fmt.Sprint(e["argument"])})
			}
		}
	}
	for _, e := range refusals {
		switch {
		case e.Code == "CONFLICT", e.Code == "ALREADY_EXISTS":
			tried(mutation, conflicted)
		case e.Code == "INVALID" && strings.HasPrefix(e.Argument, "input."):
			tried(mutation, invalid)
		}
	}
	switch {
	case len(refusals) > 0 || len(got.Data) == 0:
	case dryRun:
		tried(mutation, wroteNone)
	default:
		tried(mutation, wentWell)
	}
}

var theSchema = sync.OnceValue(schema.Load)

func noteInputs(mutation string, input map[string]any) {
	s := theSchema()
	field := s.Mutation.Fields.ForName(mutation)
	if field == nil {
		return
	}
	record.Lock()
	defer record.Unlock()
	noteFields(s, s.Types[field.Arguments.ForName("input").Type.Name()], input)
}

func noteFields(s *ast.Schema, def *ast.Definition, object map[string]any) {
	for _, f := range def.Fields {
		noteValue(s, def.Name+"."+f.Name, s.Types[f.Type.Name()], object[f.Name])
	}
}

func noteValue(s *ast.Schema, path string, def *ast.Definition, value any) {
	switch value := value.(type) {
	case nil:
	case []any:
		for _, item := range value {
			noteValue(s, path, def, item)
		}
	case map[string]any:
		record.inputs[path] = true
		if def.Kind == ast.InputObject {
			noteFields(s, def, value)
		}
	default:
		record.inputs[path] = true
		if def.Kind == ast.Enum {
			record.inputs[fmt.Sprintf("%s: %v", path, value)] = true
		}
	}
}

// toTry are all fields of all inputs that mutations take, and where the field is
// an enum all of its values.
func toTry(s *ast.Schema) []string {
	found, walked := map[string]bool{}, map[string]bool{}
	var walk func(def *ast.Definition)
	walk = func(def *ast.Definition) {
		if walked[def.Name] {
			return
		}
		walked[def.Name] = true
		for _, f := range def.Fields {
			path, of := def.Name+"."+f.Name, s.Types[f.Type.Name()]
			found[path] = true
			for _, v := range of.EnumValues {
				found[path+": "+v.Name] = true
			}
			if of.Kind == ast.InputObject {
				walk(of)
			}
		}
	}
	for _, m := range s.Mutation.Fields {
		if !strings.HasPrefix(m.Name, "__") && elsewhere[m.Name] == "" {
			walk(s.Types[m.Arguments.ForName("input").Type.Name()])
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// elsewhere are the mutations that another suite tries, and which.
var elsewhere = map[string]string{}

// untried returns what no test of this package tried of the schema's mutations.
func untried() []string {
	s := theSchema()
	record.Lock()
	defer record.Unlock()
	var missing []string
	for _, m := range s.Mutation.Fields {
		if strings.HasPrefix(m.Name, "__") || elsewhere[m.Name] != "" {
			continue
		}
		for _, f := range facets {
			if !record.facets[m.Name][f] && (f != conflicted || neverConflict[m.Name] == "") {
				missing = append(missing, fmt.Sprintf("no test sees that %s %s", m.Name, f))
			}
		}
	}
	for _, path := range toTry(s) {
		if !record.inputs[path] {
			missing = append(missing, "no test sends "+path)
		}
	}
	return missing
}

// checkRecord ends the suite: a mutation, or an input of one, that is added to the
// schema without a test makes it fail. It can tell only when all tests were run.
func checkRecord() int {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return 0
		}
	}
	missing := untried()
	if len(missing) == 0 {
		return 0
	}
	fmt.Fprintf(os.Stderr, "--- FAIL: mutations that are not tested:\n    %s\n", strings.Join(missing, "\n    "))
	return 1
}
