package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

var theSchema = schema.Load()

// route leads to the object that has a list.
type route struct {
	// open and end are put before and after the list's field.
	open, end string
	// path leads to the list in the answer.
	path []string
}

// routeTo leads to a list in the namespace many, where there are fifty of
// everything, or to one of what the route's own tests name.
func (w *world) routeTo(t testing.TB, list schema.List) route {
	t.Helper()
	switch list.Parent {
	case "Query":
		return route{}
	case "Instance":
		name := "alpha"
		if list.Field.Name == "memberClusters" {
			name = "beta" // The clusters of the suite are joined there.
		}
		return inInstance(name, "", "")
	case "MemberCluster":
		return inInstance("alpha", `memberCluster(name: "m1")`, "")
	case "PropagationPolicy":
		return inInstance("alpha", fmt.Sprintf("propagationPolicy(namespace: %q, name: %q)", w.many, "all"), "")
	case "ClusterPropagationPolicy":
		return inInstance("alpha", fmt.Sprintf("clusterPropagationPolicy(name: %q)", "suite-"+w.id+"-all"), "")
	case "OverridePolicy":
		return inInstance("alpha", `overridePolicy(namespace: "shop", name: "frontend-image")`, "")
	case "ClusterOverridePolicy":
		return inInstance("alpha", fmt.Sprintf("clusterOverridePolicy(name: %q)", "suite-"+w.id+"-web"), "")
	}
	if k, ok := workloadKinds[list.Parent]; ok {
		return inInstance("alpha", fmt.Sprintf("workload(kind: %s, namespace: %q, name: %q)", k.enum, w.many, counted(list.Parent)), list.Parent)
	}
	t.Fatalf("no test knows the way to %s: add it here", list.Key())
	return route{}
}

// inInstance leads into an instance and, where given, to one object in it of a type.
func inInstance(instance, object, typ string) route {
	r := route{open: fmt.Sprintf("instance(name: %q) {", instance), end: "}", path: []string{"instance"}}
	if object == "" {
		return r
	}
	r.open, r.end = r.open+" "+object+" {", r.end+" }"
	name, _, _ := strings.Cut(object, "(")
	r.path = append(r.path, name)
	if typ != "" {
		r.open, r.end = r.open+" ... on "+typ+" {", r.end+" }"
	}
	return r
}

// query asks for a list. Every argument of the field is a variable of the same name.
func (r route) query(list schema.List, connection string) string {
	var declared, passed []string
	for _, a := range list.Field.Arguments {
		declaration := "$" + a.Name + ": " + a.Type.String()
		if a.DefaultValue != nil {
			declaration += " = " + a.DefaultValue.String()
		}
		declared = append(declared, declaration)
		passed = append(passed, a.Name+": $"+a.Name)
	}
	return fmt.Sprintf("query List(%s) { %s %s(%s) %s %s }",
		strings.Join(declared, ", "), r.open, list.Field.Name, strings.Join(passed, ", "), connection, r.end)
}

// connection is a page of a list.
type connection struct {
	Facets []facet           `json:"facets"`
	Nodes  []json.RawMessage `json:"nodes"`
	Edges  []struct {
		Cursor string          `json:"cursor"`
		Node   json.RawMessage `json:"node"`
	} `json:"edges"`
	PageInfo struct {
		HasNextPage     bool    `json:"hasNextPage"`
		HasPreviousPage bool    `json:"hasPreviousPage"`
		StartCursor     *string `json:"startCursor"`
		EndCursor       *string `json:"endCursor"`
	} `json:"pageInfo"`
	TotalCount *int `json:"totalCount"`
	Freshness  struct {
		Source string   `json:"source"`
		Lag    *float64 `json:"lag"`
		Stale  bool     `json:"stale"`
	} `json:"freshness"`
}

// wholeConnection selects everything of a connection, and of its items what names them.
func wholeConnection(list schema.List) string {
	node := naming(list.Node)
	return fmt.Sprintf("{ nodes %s edges { cursor node %s } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount freshness { source lag stale } }", node, node)
}

// naming selects what names an object of a type.
func naming(typ string) string {
	def := theSchema.Types[typ]
	var fields []string
	for _, name := range []string{"kind", "clusterName", "namespace", "name"} {
		if f := def.Fields.ForName(name); f != nil && len(f.Arguments) == 0 {
			fields = append(fields, name)
		}
	}
	if def.Fields.ForName("instance") != nil && typ != "Cluster" {
		fields = append(fields, "instance { name }")
	}
	return "{ " + strings.Join(fields, " ") + " }"
}

// nameOf is the name of an object as text: its instance, kind, member cluster,
// namespace and name, as far as it has them.
func nameOf(raw json.RawMessage) string {
	var o struct {
		Kind, ClusterName, Namespace, Name string
		Instance                           *struct{ Name string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return "unreadable: " + err.Error()
	}
	var parts []string
	if o.Instance != nil {
		parts = append(parts, o.Instance.Name)
	}
	for _, part := range []string{o.Kind, o.ClusterName, o.Namespace, o.Name} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}

// page reads a page of a list.
func page(ctx context.Context, c *gql.Client, list schema.List, r route, variables map[string]any) (*connection, error) {
	return pageOf(ctx, c, r.query(list, wholeConnection(list)), append(slices.Clone(r.path), list.Field.Name), variables)
}

func pageOf(ctx context.Context, c *gql.Client, query string, path []string, variables map[string]any) (*connection, error) {
	data, _, err := gql.Query[json.RawMessage](ctx, c, query, variables)
	if err != nil {
		return nil, err
	}
	for _, step := range path {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, fmt.Errorf("there is no %s in the answer: %w", step, err)
		}
		data = fields[step]
	}
	var found *connection
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("the answer has null at %s", strings.Join(path, "."))
	}
	return found, nil
}

// with adds variables to others.
func with(variables map[string]any, more ...any) map[string]any {
	all := map[string]any{}
	for k, v := range variables {
		all[k] = v
	}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i].(string)] = more[i+1]
	}
	return all
}

// listsBelow are the lists that the items of a list have.
func listsBelow(list schema.List) []schema.List {
	def := theSchema.Types[list.Node]
	var below []schema.List
	for _, f := range def.Fields {
		if name := f.Type.Name(); strings.HasSuffix(name, "Connection") {
			below = append(below, schema.List{Parent: def.Name, Field: f, Node: theSchema.Types[name].Fields.ForName("nodes").Type.Name()})
		}
	}
	return below
}

// required are arguments without which a list can't be asked for.
func required(list schema.List) string {
	var b strings.Builder
	for name, value := range kindIn(list) {
		fmt.Fprintf(&b, ", %s: %q", name, value)
	}
	return b.String()
}

// kindIn are the arguments that name the kind in a list of objects of any kind; none for other lists.
func kindIn(list schema.List) map[string]any {
	switch {
	case list.Field.Name != "resources":
		return map[string]any{}
	case list.Parent == "MemberCluster":
		return map[string]any{"group": "apps", "version": "v1", "resource": "deployments"}
	}
	return map[string]any{"version": "v1", "resource": "configmaps"}
}
