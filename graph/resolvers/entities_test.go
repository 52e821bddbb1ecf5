package resolvers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// entitiesOf asks for entities.
func entitiesOf(t *testing.T, r *Resolver, selection string, representations ...map[string]any) *graphql.Response {
	t.Helper()
	variables, err := json.Marshal(map[string]any{"representations": representations})
	if err != nil {
		t.Fatal(err)
	}
	return run(t, r, nil, `query($representations: [_Any!]!) { _entities(representations: $representations) { `+selection+` } }`, string(variables))
}

// ahead keeps what is read ahead by exact keys, and what is asked for then.
type ahead struct {
	*reader
	prefetched [][]string
	got        []string
}

func keyText(k index.Key, detail index.Detail) string {
	return fmt.Sprintf("%s %s %s/%s %d", k.Cluster, k.Type.Kind, k.Namespace, k.Name, detail)
}

func (a *ahead) Prefetch(_ context.Context, keys []index.Key, detail index.Detail, _ func(map[index.Key]*index.Object)) {
	var all []string
	for _, k := range keys {
		all = append(all, keyText(k, detail))
	}
	slices.Sort(all)
	_ = a.keep(func() { a.prefetched = append(a.prefetched, all) })
}

func (a *ahead) Get(ctx context.Context, k index.Key, detail index.Detail) (*index.Object, error) {
	_ = a.keep(func() { a.got = append(a.got, keyText(k, detail)) })
	return a.reader.Get(ctx, k, detail)
}

// All entities of a type are read in one go, as much of each as is asked for then.
func TestEntitiesAreReadTogether(t *testing.T) {
	const selection = `__typename
		... on Workload { health placements { object { name } } } ... on Job { completions }
		... on Policy { yaml } ... on MemberCluster { manifest } ... on Namespace { yaml }`
	for typ, keyed := range keyedTypes {
		if keyed.name == nil || typ == "Instance" || typ == "Cluster" {
			continue // It has no name, or is in a cache.
		}
		t.Run(typ, func(t *testing.T) {
			var all []map[string]any
			for i := range 3 {
				representation := map[string]any{
					"__typename": typ, "instance": map[string]any{"name": []string{"alpha", "beta"}[i%2]}, "namespace": "shop", "name": fmt.Sprint("x-", i),
				}
				if typ == "Workload" {
					representation["kind"] = workload.Kinds()[i]
				}
				if typ == "CustomWorkload" {
					representation["customKind"] = "Rollout.argoproj.io"
				}
				all = append(all, representation)
			}
			a := &ahead{reader: &reader{}}
			resp := entitiesOf(t, fleetOver(t, a, a.reader), selection, all...)
			if len(resp.Errors) > 0 || string(resp.Data) != `{"_entities":[null,null,null]}` {
				t.Errorf("got %s %v", resp.Data, resp.Errors)
			}
			if len(a.prefetched) != 1 {
				t.Fatalf("read ahead %d times: %q", len(a.prefetched), a.prefetched)
			}
			slices.Sort(a.got)
			if diff := cmp.Diff(a.prefetched[0], a.got); diff != "" || len(a.got) != 3 {
				t.Errorf("(-read ahead +asked for):\n%s", diff)
			}
		})
	}
}

// The lists below entities that are instances are read in one batch, like those below a list of
// instances.
func TestListsOfEntitiesAreReadAhead(t *testing.T) {
	r := &reader{}
	resp := entitiesOf(t, fleetOf(t, r), `... on Instance { workloads { totalCount } events { nodes { reason } } } ... on Workload { name }`,
		map[string]any{"__typename": "Instance", "name": "alpha"}, map[string]any{"__typename": "Instance", "name": "gone"}, map[string]any{"__typename": "Instance", "name": "beta"})
	if len(resp.Errors) > 0 {
		t.Fatal(resp.Errors)
	}
	slices.Sort(r.ahead)
	slices.Sort(r.asked)
	if diff := cmp.Diff(r.ahead, r.asked); diff != "" || len(r.asked) != 4 {
		t.Errorf("asked for %d lists (-read ahead +asked for):\n%s", len(r.asked), diff)
	}
}

// held is full, and finds what it holds by exact keys too.
type held struct{ full }

func (h held) find(k index.Key) *index.Object {
	for _, o := range h.objects {
		if o.Cluster == k.Cluster && o.Kind == k.Type.Kind && o.Meta.Namespace == k.Namespace && o.Meta.Name == k.Name {
			return o
		}
	}
	return nil
}

func (h held) Get(_ context.Context, k index.Key, _ index.Detail) (*index.Object, error) {
	if o := h.find(k); o != nil {
		return o, nil
	}
	return nil, k.NotFound()
}

func (h held) Prefetch(_ context.Context, keys []index.Key, _ index.Detail, then func(map[index.Key]*index.Object)) {
	found := map[index.Key]*index.Object{}
	for _, k := range keys {
		if o := h.find(k); o != nil {
			found[k] = o
		}
	}
	if then != nil {
		then(found)
	}
}

// The lists below entities are read ahead like those below the items of a list.
func TestListsBelowEntitiesAreReadAhead(t *testing.T) {
	for _, tt := range []struct {
		typ, selection string
		namespaced     bool
		lists          int
	}{
		{"PropagationPolicy", `... on PropagationPolicy { workloads(first: 2) { nodes { name } } }`, true, belowEach},
		{"ClusterPropagationPolicy", `... on PropagationPolicyLike { w: workloads { totalCount nodes { events { totalCount } } } }`, false, 2 * belowEach},
		{"Deployment", `... on Workload { events(first: 3) { nodes { reason } } } ... on Deployment { all: events { totalCount } }`, true, 2 * belowEach},
	} {
		r := &reader{}
		var all []map[string]any
		for i := range belowEach {
			representation := map[string]any{"__typename": tt.typ, "instance": map[string]any{"name": "alpha"}, "name": fmt.Sprint("x-", i)}
			if tt.namespaced {
				representation["namespace"] = "shop"
			}
			all = append(all, representation)
		}
		if resp := entitiesOf(t, fleetOver(t, held{newFull(t, r)}, r), tt.selection, all...); len(resp.Errors) > 0 || strings.Contains(string(resp.Data), "[null") {
			t.Errorf("%s: %s %v", tt.typ, resp.Data, resp.Errors)
		}
		ahead := slices.Compact(slices.Sorted(slices.Values(r.ahead)))
		asked := slices.Compact(slices.Sorted(slices.Values(r.asked)))
		if diff := cmp.Diff(ahead, asked); diff != "" || len(asked) != tt.lists {
			t.Errorf("%s: %d lists were asked for, want %d (-read ahead +asked for):\n%s", tt.typ, len(asked), tt.lists, diff)
		}
	}
}

// What is selected on entities of one type is not read of those of another.
func TestEntitiesOfOneTypeNeedNothingOfAnother(t *testing.T) {
	a := &ahead{reader: &reader{}}
	entitiesOf(t, fleetOver(t, a, a.reader), `... on Workload { name } ... on Policy { yaml } ... on Namespace { manifest } ... on MemberCluster { yaml }`,
		map[string]any{"__typename": "Job", "instance": map[string]any{"name": "alpha"}, "namespace": "shop", "name": "x"},
		map[string]any{"__typename": "OverridePolicy", "instance": map[string]any{"name": "alpha"}, "namespace": "shop", "name": "y"})
	slices.Sort(a.got)
	want := []string{fmt.Sprintf("k-alpha Job shop/x %d", index.Metadata), fmt.Sprintf("k-alpha OverridePolicy shop/y %d", index.Whole)}
	if diff := cmp.Diff(want, a.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each representation has its own answer, at its place: one that is wrong costs
// other callers nothing.
func TestEntitiesAreAnsweredOneByOne(t *testing.T) {
	r := &reader{}
	resp := entitiesOf(t, fleetOf(t, r), `__typename ... on Instance { name }`,
		map[string]any{"__typename": "Instance", "name": "beta"},
		map[string]any{"__typename": "Instance"},
		map[string]any{"__typename": "Instance", "name": "gone"},
		map[string]any{"__typename": "Instance", "id": nodeid.New("Instance", "alpha")},
		map[string]any{"__typename": "Cluster", "id": nodeid.New("Instance", "alpha")},
		map[string]any{},
		map[string]any{"__typename": "Deployment", "instance": map[string]any{"name": "gone"}, "namespace": "shop", "name": "x"},
		map[string]any{"__typename": "Instance", "name": "beta"},
	)
	want := `{"_entities":[{"__typename":"Instance","name":"beta"},null,null,{"__typename":"Instance","name":"alpha"},null,null,null,{"__typename":"Instance","name":"beta"}]}`
	if diff := cmp.Diff(want, string(resp.Data)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var reported []string
	for _, err := range resp.Errors {
		if apierror.CodeOf(err) != apierror.CodeInvalid {
			t.Errorf("%v is no INVALID", err)
		}
		about, _, _ := strings.Cut(err.Err.Error(), ": ")
		reported = append(reported, err.Path.String()+" "+about)
	}
	if diff := cmp.Diff([]string{"_entities[1] representations[1].name", "_entities[4] representations[4].id", "_entities[5] representations[5].__typename"}, reported); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if r.objects+len(r.asked)+r.lists > 0 {
		t.Error("the index was asked for what is not there")
	}
}

// An index that is away costs the entities that come from it.
func TestEntitiesThatCannotBeRead(t *testing.T) {
	r := &reader{err: apierror.New(apierror.CodeIndexUnavailable, "away")}
	resp := entitiesOf(t, fleetOf(t, r), `... on Instance { name } ... on Workload { name }`,
		map[string]any{"__typename": "Deployment", "instance": map[string]any{"name": "alpha"}, "namespace": "shop", "name": "x"},
		map[string]any{"__typename": "Instance", "name": "beta"})
	if string(resp.Data) != `{"_entities":[null,{"name":"beta"}]}` {
		t.Errorf("got %s", resp.Data)
	}
	if len(resp.Errors) != 1 || apierror.CodeOf(resp.Errors[0]) != apierror.CodeIndexUnavailable || resp.Errors[0].Path.String() != "_entities[0]" {
		t.Errorf("got %v", resp.Errors)
	}
}

func TestRepresentationsAreBounded(t *testing.T) {
	many := func(n int) []map[string]any {
		return slices.Repeat([]map[string]any{{"__typename": "Instance", "name": "alpha"}}, n)
	}
	r := &reader{}
	if resp := entitiesOf(t, fleetOf(t, r), `__typename`, many(maxRepresentations)...); len(resp.Errors) > 0 {
		t.Errorf("as many as are allowed: %v", resp.Errors)
	}
	resp := entitiesOf(t, fleetOf(t, r), `__typename`, many(maxRepresentations+1)...)
	if len(resp.Errors) != 1 || apierror.CodeOf(resp.Errors[0]) != apierror.CodeInvalid || strings.Count(string(resp.Data), "null") != maxRepresentations+1 {
		t.Errorf("one more: %d nulls, %v", strings.Count(string(resp.Data), "null"), resp.Errors)
	}
}

// Authors of contracts rely on the tags.
func TestTagsAreWhole(t *testing.T) {
	schema := loadSchema(t)
	has := func(f *ast.FieldDefinition, tag string) bool {
		return slices.ContainsFunc(f.Directives.ForNames("tag"), func(d *ast.Directive) bool { return d.Arguments.ForName("name").Value.Raw == tag })
	}
	for _, def := range ours(schema) {
		if def.Kind != ast.Object && def.Kind != ast.Interface {
			continue
		}
		for _, f := range def.Fields {
			if write := def.Name == "Mutation"; has(f, "write") != write {
				t.Errorf("%s.%s: tagged write %v, want %v", def.Name, f.Name, has(f, "write"), write)
			}
			// The file of a kubeconfig is no object of Kubernetes.
			if raw := f.Type.Elem == nil && (f.Name == "manifest" || f.Name == "yaml" && def.Name != "InstanceKubeconfig"); has(f, "raw") != raw {
				t.Errorf("%s.%s: tagged raw %v, want %v", def.Name, f.Name, has(f, "raw"), raw)
			}
		}
	}
}

func TestSubgraphIsSwitchedOffWithIntrospection(t *testing.T) {
	ctx := func(off bool) context.Context {
		return graphql.WithOperationContext(t.Context(), &graphql.OperationContext{DisableIntrospection: off})
	}
	on, err := (&Resolver{}).Subgraph(ctx(false))
	if err != nil || !strings.Contains(on.SDL, `@key(fields: "id")`) {
		t.Errorf("got %.100s, %v", on.SDL, err)
	}
	for _, internal := range []string{"@guard", "@goModel", "@observed", "_entities", "_Any"} {
		if strings.Contains(on.SDL, internal) {
			t.Errorf("the schema of the subgraph shows %s", internal)
		}
	}
	if off, err := (&Resolver{}).Subgraph(ctx(true)); err == nil || off.SDL != "" {
		t.Errorf("switched off: %.100s, %v", off.SDL, err)
	}
}
