package resolvers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// keysOf are the keys that the schema gives a type, each as its fields.
func keysOf(def *ast.Definition) []string {
	var keys []string
	for _, d := range def.Directives.ForNames("key") {
		keys = append(keys, d.Arguments.ForName("fields").Value.Raw)
	}
	slices.Sort(keys)
	return keys
}

// What can be read as a reference, what the schema says has a key, and what
// _entities may answer with are the same.
func TestKeysAreThoseOfTheSchema(t *testing.T) {
	schema := loadSchema(t)
	entities := map[string]bool{}
	for _, name := range schema.Types["_Entity"].Types {
		entities[name] = true
	}
	for _, def := range ours(schema) {
		keys := keysOf(def)
		typ, known := keyedTypes[def.Name]
		if known != (len(keys) > 0) {
			t.Errorf("%s has the keys %q in the schema, and is known here: %v", def.Name, keys, known)
			continue
		}
		if entities[def.Name] != (known && def.Kind == ast.Object) {
			t.Errorf("%s: known %v, in _Entity %v", def.Name, known, entities[def.Name])
		}
		if !known {
			continue
		}
		want := []string{"id"}
		if typ.name != nil {
			selection := func(leaveOut string) string {
				var fields []string
				for _, path := range typ.name {
					if outer, inner, nested := strings.Cut(path, "."); nested {
						path = outer + " { " + inner + " }"
					}
					if path != "" && path != leaveOut {
						fields = append(fields, path)
					}
				}
				return strings.Join(fields, " ")
			}
			want = append(want, selection(""))
			switch typ.kind {
			case "":
			case workload.KindCustom: // The key of the interface, which names no entity of this type.
				want = append(want, "instance { name } kind namespace name")
			default:
				want = append(want, selection(kindField))
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("%s: the keys that are understood and those of the schema (-understood +schema):\n%s", def.Name, diff)
		}
		// The types of an interface with keys need its keys, and need to be read by its IDs.
		for _, one := range schema.PossibleTypes[def.Name] {
			if one.Kind != ast.Object || def.Kind != ast.Interface {
				continue
			}
			for _, id := range keyedTypes[one.Name].ids {
				if !slices.Contains(typ.ids, id) {
					t.Errorf("a %s is a %s, whose IDs are %q and not %s", one.Name, def.Name, typ.ids, id)
				}
			}
		}
		for _, id := range typ.ids {
			if finders[id].find == nil || (typ.name != nil && len(typ.name) != finders[id].parts) {
				t.Errorf("%s: its IDs have %d parts, its names %q", def.Name, finders[id].parts, typ.name)
			}
		}
	}
}

func TestReferenceOf(t *testing.T) {
	frontend := nodeid.ID{Type: "Workload", Parts: []string{"alpha", "DEPLOYMENT", "shop", "frontend"}}
	policy := nodeid.ID{Type: "ClusterPropagationPolicy", Parts: []string{"alpha", "", "agents"}}
	for _, tt := range []struct {
		name, representation string
		want                 nodeid.ID
		// argument is what the error names; empty where there is none.
		argument string
		why      string
	}{
		{name: "by name", representation: `{"__typename": "Instance", "name": "alpha"}`, want: nodeid.ID{Type: "Instance", Parts: []string{"alpha"}}},
		{name: "by ID", representation: `{"__typename": "Deployment", "id": "` + frontend.String() + `"}`, want: frontend},
		{name: "by ID of the interface", representation: `{"__typename": "Workload", "id": "` + frontend.String() + `"}`, want: frontend, why: "another subgraph has it as an @interfaceObject"},
		{
			name: "nested", representation: `{"__typename": "Deployment", "instance": {"name": "alpha"}, "namespace": "shop", "name": "frontend"}`, want: frontend,
			why: "the type says the kind",
		},
		{
			name: "nested, with what a router adds", representation: `{"__typename": "Deployment", "instance": {"__typename": "Instance", "name": "alpha"}, "kind": "DEPLOYMENT", "namespace": "shop", "name": "frontend", "x": 1}`,
			want: frontend, why: "what is beside a key is not looked at",
		},
		{
			name: "nested, of the interface", representation: `{"__typename": "Workload", "instance": {"name": "alpha"}, "kind": "DEPLOYMENT", "namespace": "shop", "name": "frontend"}`, want: frontend,
		},
		{name: "ID null", representation: `{"__typename": "Instance", "id": null, "name": "alpha"}`, want: nodeid.ID{Type: "Instance", Parts: []string{"alpha"}}, why: "there is another key"},
		{name: "both", representation: `{"__typename": "ClusterPropagationPolicy", "id": "` + policy.String() + `", "name": 3}`, want: policy, why: "one key is enough"},
		{name: "without namespace", representation: `{"__typename": "ClusterPropagationPolicy", "instance": {"name": "alpha"}, "name": "agents"}`, want: policy},
		{name: "a policy of any kind", representation: `{"__typename": "Policy", "id": "` + policy.String() + `"}`, want: policy},

		{name: "no object", representation: `"alpha"`, argument: "at"},
		{name: "null", representation: `null`, argument: "at"},
		{name: "a list", representation: `[{"__typename": "Instance", "name": "alpha"}]`, argument: "at"},
		{name: "no type", representation: `{"name": "alpha"}`, argument: "at.__typename"},
		{name: "a number for a type", representation: `{"__typename": 1, "name": "alpha"}`, argument: "at.__typename"},
		{name: "an unknown type", representation: `{"__typename": "Nothing", "name": "alpha"}`, argument: "at.__typename"},
		{name: "a type without a key", representation: `{"__typename": "Viewer", "username": "admin"}`, argument: "at.__typename"},
		{name: "an interface without a key", representation: `{"__typename": "Node", "id": "` + frontend.String() + `"}`, argument: "at.__typename"},
		{name: "no key", representation: `{"__typename": "Instance"}`, argument: "at.name"},
		{name: "a number for a name", representation: `{"__typename": "Instance", "name": 7}`, argument: "at.name"},
		{name: "a list for a name", representation: `{"__typename": "Instance", "name": ["alpha"]}`, argument: "at.name"},
		{name: "no instance", representation: `{"__typename": "MemberCluster", "name": "m1"}`, argument: "at.instance.name"},
		{name: "an instance that is a name", representation: `{"__typename": "MemberCluster", "instance": "alpha", "name": "m1"}`, argument: "at.instance.name"},
		{name: "an instance without a name", representation: `{"__typename": "MemberCluster", "instance": {}, "name": "m1"}`, argument: "at.instance.name"},
		{name: "no namespace", representation: `{"__typename": "OverridePolicy", "instance": {"name": "alpha"}, "name": "x"}`, argument: "at.namespace"},
		{name: "no kind", representation: `{"__typename": "Workload", "instance": {"name": "alpha"}, "namespace": "shop", "name": "frontend"}`, argument: "at.kind", why: "the interface does not say it"},
		{name: "another kind", representation: `{"__typename": "Job", "instance": {"name": "alpha"}, "kind": "DEPLOYMENT", "namespace": "shop", "name": "frontend"}`, argument: "at.kind"},
		{name: "no kind at all", representation: `{"__typename": "Workload", "instance": {"name": "alpha"}, "kind": "POD", "namespace": "shop", "name": "frontend"}`, argument: "at.kind"},
		{name: "garbage for an ID", representation: `{"__typename": "Instance", "id": "garbage", "name": "alpha"}`, argument: "at.id"},
		{name: "a number for an ID", representation: `{"__typename": "Instance", "id": 1}`, argument: "at.id"},
		{name: "the ID of another type", representation: `{"__typename": "Cluster", "id": "` + nodeid.New("Instance", "alpha") + `"}`, argument: "at.id", why: "the router would take one for the other"},
		{name: "the ID of another kind", representation: `{"__typename": "Job", "id": "` + frontend.String() + `"}`, argument: "at.id"},
		{name: "the ID of what has no key", representation: `{"__typename": "Instance", "id": "` + nodeid.New("Viewer", "admin") + `"}`, argument: "at.id"},
		{name: "an ID with a part too few", representation: `{"__typename": "Deployment", "id": "` + nodeid.New("Workload", "alpha", "DEPLOYMENT", "shop") + `"}`, argument: "at.id"},
		{name: "an ID without parts", representation: `{"__typename": "Workload", "id": "` + nodeid.New("Workload") + `"}`, argument: "at.id"},
		{name: "a policy without an ID", representation: `{"__typename": "Policy", "name": "agents"}`, argument: "at.id", why: "nothing but the ID says its kind"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var representation any
			if err := json.Unmarshal([]byte(tt.representation), &representation); err != nil {
				t.Fatal(err)
			}
			got, err := referenceOf("at", representation)
			if tt.argument == "" {
				if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
					t.Errorf("%v: %s (-want +got):\n%s", err, tt.why, diff)
				}
				return
			}
			reported, ok := err.(*apierror.Error) //nolint:errorlint // It is not wrapped.
			if !ok || reported.Code != apierror.CodeInvalid || reported.Argument != tt.argument {
				t.Errorf("got %v, %v; want INVALID at %s: %s", got, err, tt.argument, tt.why)
			}
		})
	}
}

// FuzzReferenceOf: whatever a router sends is a reference that can be looked for, or INVALID.
func FuzzReferenceOf(f *testing.F) {
	for _, seed := range []string{
		`{"__typename": "Instance", "name": "alpha"}`, `{"__typename": "Workload", "instance": {"name": "a"}, "kind": "JOB", "namespace": "", "name": ""}`,
		`{"__typename": "Deployment", "id": "` + nodeid.New("Workload", "a", "DEPLOYMENT", "b", "c") + `"}`, `[]`, `{"__typename": "Policy", "id": {}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var representation any
		if json.Unmarshal([]byte(text), &representation) != nil {
			return
		}
		id, err := referenceOf("at", representation)
		if err != nil {
			if !apierror.Is(err, apierror.CodeInvalid) {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if finder, ok := finders[id.Type]; !ok || len(id.Parts) != finder.parts {
			t.Fatalf("%s: no router can look for %v", text, id)
		}
	})
}
