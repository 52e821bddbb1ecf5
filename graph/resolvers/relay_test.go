package resolvers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
)

// typesOf are the types of some fields, as text.
func typesOf(fields ast.FieldList, names ...string) map[string]string {
	types := map[string]string{}
	for _, f := range fields {
		if len(names) == 0 && !strings.HasPrefix(f.Name, "__") || slices.Contains(names, f.Name) {
			types[f.Name] = f.Type.String()
		}
	}
	return types
}

// sharedFacets are nouns that are counted as others are.
var sharedFacets = map[string]string{
	"MemberCluster": "Cluster", "PropagationPolicy": "Policy", "ClusterPropagationPolicy": "Policy", "OverridePolicy": "Policy", "ClusterOverridePolicy": "Policy",
}

// TestRelayConnections walks the schema for connections, as Relay's cursor
// connections specification has them. Lists are the same everywhere, so that a
// client writes its paging once.
func TestRelayConnections(t *testing.T) {
	schema := loadSchema(t)
	if diff := cmp.Diff(map[string]string{
		"hasNextPage": "Boolean!", "hasPreviousPage": "Boolean!", "startCursor": "String", "endCursor": "String",
	}, typesOf(schema.Types["PageInfo"].Fields)); diff != "" {
		t.Errorf("PageInfo (-want +got):\n%s", diff)
	}
	connections := map[string]bool{}
	for _, def := range ours(schema) {
		hasEdges := def.Fields.ForName("edges") != nil
		noun, named := strings.CutSuffix(def.Name, "Connection")
		if edge, ok := strings.CutSuffix(def.Name, "Edge"); ok && schema.Types[edge+"Connection"] == nil {
			t.Errorf("%s: no connection has it", def.Name)
		}
		if !hasEdges && !named {
			continue
		}
		if !hasEdges || !named || def.Kind != ast.Object {
			t.Errorf("%s: what has edges is an object whose name ends in Connection, and the other way round", def.Name)
			continue
		}
		connections[def.Name] = true
		want := map[string]string{
			"edges": "[" + noun + "Edge!]!", "nodes": "[" + noun + "!]!", "pageInfo": "PageInfo!", "totalCount": "Int", "freshness": "Freshness!",
		}
		counted := noun
		if shared := sharedFacets[noun]; shared != "" {
			counted = shared
		}
		if schema.Types[counted+"Facet"] != nil {
			want["facets"] = "[" + counted + "Facet!]!"
		}
		if diff := cmp.Diff(want, typesOf(def.Fields)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", def.Name, diff)
		}
		if edge := schema.Types[noun+"Edge"]; edge == nil || edge.Kind != ast.Object {
			t.Errorf("%s: there is no object %sEdge", def.Name, noun)
		} else if diff := cmp.Diff(map[string]string{"node": noun + "!", "cursor": "String!"}, typesOf(edge.Fields)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", edge.Name, diff)
		}
		if schema.Types[noun] == nil || !schema.Types[noun].IsCompositeType() {
			t.Errorf("%s: a node is an object, an interface or a union", def.Name)
		}
	}
	if len(connections) < 10 {
		t.Errorf("only %d connections were looked at", len(connections))
	}
	used := map[string]bool{}
	for _, def := range ours(schema) {
		for _, f := range def.Fields {
			if !connections[f.Type.Name()] {
				continue
			}
			used[f.Type.Name()] = true
			where := def.Name + "." + f.Name
			if want := f.Type.Name() + "!"; f.Type.String() != want {
				t.Errorf("%s: is %s, and a list is never null: %s", where, f.Type, want)
			}
			// Forward or backward, or both; half of either is neither.
			got := map[string]string{}
			for _, a := range f.Arguments {
				if slices.Contains([]string{"first", "after", "last", "before"}, a.Name) {
					got[a.Name] = a.Type.String()
				}
			}
			want := map[string]string{"first": "Int", "after": "String"}
			if got["last"] != "" || got["before"] != "" {
				want["last"], want["before"] = "Int", "String"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", where, diff)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(connections)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("connections that no field gives (-defined +given):\n%s", diff)
	}
}

// TestRelayNodes walks the schema for objects with global IDs, as Relay's global
// object identification specification has them.
func TestRelayNodes(t *testing.T) {
	schema := loadSchema(t)
	if diff := cmp.Diff(map[string]string{"id": "ID!"}, typesOf(schema.Types["Node"].Fields)); diff != "" || schema.Types["Node"].Kind != ast.Interface {
		t.Errorf("Node is an interface with (-want +got):\n%s", diff)
	}
	node := schema.Query.Fields.ForName("node")
	if node == nil || node.Type.String() != "Node" || len(node.Arguments) != 1 || node.Arguments[0].Name != "id" || node.Arguments[0].Type.String() != "ID!" {
		t.Errorf("Query.node is no node(id: ID!): Node: %+v", node)
	}
	nodes := 0
	for _, def := range ours(schema) {
		if def.Kind != ast.Object && def.Kind != ast.Interface {
			continue
		}
		id := def.Fields.ForName("id")
		implements := def.Name == "Node" || slices.Contains(def.Interfaces, "Node")
		switch {
		case id == nil && !implements:
		case id == nil || id.Type.String() != "ID!" || len(id.Arguments) > 0:
			t.Errorf("%s implements Node and has no id: ID!", def.Name)
		case !implements:
			t.Errorf("%s has an id and does not implement Node: no client could read it again", def.Name)
		default:
			nodes++
		}
	}
	if nodes < 15 {
		t.Errorf("only %d types with an ID were looked at", nodes)
	}
}
