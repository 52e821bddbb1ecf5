package writes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// sample is a value of an input's type, with what is required in it.
func sample(s *ast.Schema, name string, of *ast.Type) any {
	def := s.Types[of.Name()]
	switch {
	case of.Elem != nil:
		return []any{sample(s, name, of.Elem)}
	case name == "instance":
		return "alpha"
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		object := map[string]any{}
		for _, f := range def.Fields {
			if f.Type.NonNull && f.DefaultValue == nil {
				object[f.Name] = sample(s, f.Name, f.Type)
			}
		}
		return object
	case def.Name == "Int", def.Name == "Int64", def.Name == "Float":
		return 1
	case def.Name == "Boolean":
		return false
	case def.Name == "JSON":
		return map[string]any{}
	}
	return "x"
}

// TestMalformedVersions gives every mutation that takes a resourceVersion one that can be
// none: it is refused for that, at that input, and no instance is asked anything.
func TestMalformedVersions(t *testing.T) {
	s := theSchema()
	c := gql.New(fleet.Open(t).KairshipURL, fleet.Open(t).Token(t, "admin"))
	tried := 0
	for _, m := range s.Mutation.Fields {
		if strings.HasPrefix(m.Name, "__") {
			continue
		}
		argument := m.Arguments.ForName("input")
		if s.Types[argument.Type.Name()].Fields.ForName("resourceVersion") == nil {
			continue
		}
		tried++
		for _, version := range []string{"abc", "", "0", "7a", "-1", "99999999999999999999"} {
			t.Run(fmt.Sprintf("%s %q", m.Name, version), func(t *testing.T) {
				input, _ := sample(s, "input", argument.Type).(map[string]any)
				input["resourceVersion"] = version
				r := c.Must(t, gql.Request{
					Query:     fmt.Sprintf("mutation($input: %s) { %s(input: $input) { consistencyToken } }", argument.Type, m.Name),
					Variables: map[string]any{"input": input},
				})
				if r.Status != http.StatusOK || len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != "input.resourceVersion" {
					t.Errorf("got HTTP %d %v, want INVALID at input.resourceVersion", r.Status, r.Errors)
				}
				var plan struct {
					Extensions struct {
						Plan struct {
							Upstreams []struct {
								Kind string `json:"kind"`
							} `json:"upstreams"`
						} `json:"plan"`
					} `json:"extensions"`
				}
				if err := json.Unmarshal(r.Body, &plan); err != nil {
					t.Fatal(err)
				}
				for _, u := range plan.Extensions.Plan.Upstreams {
					if strings.EqualFold(u.Kind, "instance") {
						t.Errorf("an instance was asked: %s", r.Body)
					}
				}
			})
		}
	}
	if tried < 15 {
		t.Errorf("only %d mutations take a resourceVersion", tried)
	}
}

// TestMutationsFailOneByOne: what one did is in the answer, whatever becomes of the others.
func TestMutationsFailOneByOne(t *testing.T) {
	c := gql.New(fleet.Open(t).KairshipURL, fleet.Open(t).Token(t, "admin"))
	const scale = `scaleWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: %q, replicas: 4}) { workload { name } consistencyToken }`
	r := c.Must(t, gql.Request{Query: fmt.Sprintf("mutation { a: "+scale+" b: "+scale+" c: "+scale+" }", "frontend", "none", "frontend")})
	var data map[string]*struct {
		ConsistencyToken *string `json:"consistencyToken"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatal(err)
	}
	if r.Status != http.StatusOK || len(r.Errors) != 1 || r.Errors[0].PathText() != "b" || r.Errors[0].Extensions.Code != "NOT_FOUND" {
		t.Errorf("got HTTP %d %v, want NOT_FOUND at b alone", r.Status, r.Errors)
	}
	for _, name := range []string{"a", "c"} {
		if p := data[name]; p == nil || p.ConsistencyToken == nil {
			t.Errorf("the result of %s is lost: %s", name, r.Body)
		}
	}
	if data["b"] != nil {
		t.Errorf("b failed, and has a result: %s", r.Body)
	}
	hidden := gql.New(fleet.Open(t).KairshipURL, fleet.Open(t).Token(t, "mallory")).Must(t, gql.Request{Query: fmt.Sprintf("mutation { a: "+scale+" }", "frontend")})
	if len(hidden.Errors) != 1 || hidden.Errors[0].Extensions.Code == "" {
		t.Errorf("a hidden instance is no error: %s", hidden.Body)
	}
}

// TestReplicasOutOfRange says so at the input, in a sentence.
func TestReplicasOutOfRange(t *testing.T) {
	c := gql.New(fleet.Open(t).KairshipURL, fleet.Open(t).Token(t, "admin"))
	const by = `mutation($input: ScaleWorkloadInput!) { scaleWorkload(input: $input) { consistencyToken } }`
	for _, replicas := range []any{-1, 3000000000, -3000000000, "2", 2.5, true, []any{1, 2}} {
		input := map[string]any{"instance": "alpha", "kind": "DEPLOYMENT", "namespace": "shop", "name": "frontend", "dryRun": true, "replicas": replicas}
		r := c.Must(t, gql.Request{Query: by, Variables: map[string]any{"input": input}})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != "input.replicas" || len(r.Errors[0].Message) > 200 {
			t.Errorf("%v: got %v, want INVALID at input.replicas", replicas, r.Errors)
		}
	}
	r := c.Must(t, gql.Request{Query: `mutation { scaleWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "shop", name: "frontend", replicas: 3000000000, dryRun: true}) { consistencyToken } }`})
	if len(r.Errors) != 1 || r.Errors[0].Extensions.Argument != "input.replicas" || len(r.Errors[0].Message) > 200 {
		t.Errorf("in the document: got %v", r.Errors)
	}
}
