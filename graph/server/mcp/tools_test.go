package mcp

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/operation"
)

// TestToolsOnlyRead finds a tool that writes, or that reads what an assistant must not have.
func TestToolsOnlyRead(t *testing.T) {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operations, err := operation.Load(v1.Operations, schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(operations, schema, http.NotFoundHandler(), nil, 1, nil); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	all := slices.Clone(tools)
	for _, r := range resources {
		all = append(all, r.tool)
	}
	for _, tool := range all {
		if names[tool.name] {
			t.Errorf("there are two of the name %s", tool.name)
		}
		names[tool.name] = true
		for _, op := range operations {
			if op.Name != tool.operation {
				continue
			}
			if !op.Reads() || op.Streams() {
				t.Errorf("%s is a %s", tool.name, op.Definition.Operation)
			}
			// Secrets are read by lists of any kind and by exports alone.
			for _, never := range []string{"kubeconfig", "resource(", "resources(", "exportApplication", "exportInstance"} {
				if strings.Contains(op.Document, never) {
					t.Errorf("%s reads %s", tool.name, never)
				}
			}
			for name := range tool.sent {
				if op.Definition.VariableDefinitions.ForName(name) == nil {
					t.Errorf("%s sends %s, which %s does not have", tool.name, name, op.Name)
				}
			}
		}
	}
}

func TestFit(t *testing.T) {
	long := strings.Repeat("x", mostBytes/4)
	for name, c := range map[string]struct {
		object   string
		problems []string
		want     string // A part of the answer.
		err      string
	}{
		"short":               {object: `{"a":1}`, want: `{"a":1}`},
		"with a problem":      {object: `{"a":null}`, problems: []string{"away (TIMEOUT)"}, want: `"missing":["away (TIMEOUT)"]`},
		"a long list":         {object: `{"nodes":["` + long + `","` + long + `","` + long + `","` + long + `"],"totalCount":4}`, want: `"cut":{"shown":3,"of":4`},
		"a long object":       {object: `{"a":"` + strings.Repeat(long, 5) + `"}`, err: "ask for less"},
		"a list of long ones": {object: `{"nodes":["` + strings.Repeat(long, 5) + `"]}`, want: `"shown":0,"of":1`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fit([]byte(c.object), c.problems)
			switch {
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("got the error %v", err)
			case c.err == "" && (err != nil || !strings.Contains(string(got), c.want) || len(got) > mostBytes+256):
				t.Errorf("got %.300s, %v", got, err)
			}
		})
	}
}
