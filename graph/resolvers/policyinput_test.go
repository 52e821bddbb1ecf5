package resolvers

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	gqlast "github.com/vektah/gqlparser/v2/ast"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// shown gives a spec as the API shows it, with all fields.
func shown[S any](t *testing.T, schema *gqlast.Schema, spec *S) map[string]any {
	t.Helper()
	field, typ, answer := "propagationPolicy", "PropagationSpec", any(nil)
	switch spec := any(spec).(type) {
	case *policyv1alpha1.PropagationSpec:
		answer = &policy.PropagationPolicy{Spec: spec}
	case *policyv1alpha1.OverrideSpec:
		field, typ, answer = "overridePolicy", "OverrideSpec", &policy.OverridePolicy{Spec: spec}
	}
	query := fmt.Sprintf(`{ instance(name: "alpha") { p: %s(namespace: "shop", name: "web") { spec %s } } }`, field, everything(schema, typ))
	resp := run(t, &Resolver{}, world().with(intercept{"Instance." + field: value(answer)}), query, "")
	if len(resp.Errors) > 0 {
		t.Fatal(resp.Errors)
	}
	var data struct {
		Instance struct {
			P struct {
				Spec json.RawMessage `json:"spec"`
			} `json:"p"`
		} `json:"instance"`
	}
	if err := json.Unmarshal(resp.Data, &data); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(data.Instance.P.Spec)))
	dec.UseNumber()
	out := map[string]any{}
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// everything selects all fields of a type, and all below them.
func everything(schema *gqlast.Schema, typ string) string {
	def := schema.Types[typ]
	if def.Kind != gqlast.Object {
		return ""
	}
	fields := make([]string, 0, len(def.Fields))
	for _, f := range def.Fields {
		fields = append(fields, f.Name+" "+everything(schema, f.Type.Name()))
	}
	return "{ " + strings.Join(fields, " ") + " }"
}

// taken gives the spec that an input of the API becomes, as it would be stored.
func taken[S any](t *testing.T, input map[string]any) S {
	t.Helper()
	var spec S
	mutation := "createPropagationPolicy"
	if _, override := any(spec).(policyv1alpha1.OverrideSpec); override {
		mutation = "createOverridePolicy"
	}
	name := strings.ToUpper(mutation[:1]) + mutation[1:]
	variables, err := json.Marshal(map[string]any{"in": map[string]any{"instance": "alpha", "namespace": "shop", "name": "web", "spec": input}})
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	resp := run(t, &Resolver{}, intercept{"Mutation." + mutation: func(_ context.Context, fc *graphql.FieldContext) (any, error) {
		spec, asked = fc.Args["input"].(specs.CreateInput[S]).Spec, true
		return nil, context.Canceled
	}}, fmt.Sprintf(`mutation($in: %sInput!) { %s(input: $in) { __typename } }`, name, mutation), string(variables))
	if !asked {
		t.Fatalf("the input %s was refused: %v", variables, resp.Errors)
	}
	spec, err = specs.Canonical(spec)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// storedPropagation and storedOverride are specs as an instance stores them, with its defaults.
var storedPropagation = map[string]string{
	"the smallest, with the defaults": `
resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, namespace: shop}]
placement: {}
priority: 0
preemption: Never
schedulerName: default-scheduler
conflictResolution: Abort`,
	"empty objects are not nothing: each of them means something": `
resourceSelectors: [{apiVersion: v1, kind: ConfigMap, labelSelector: {}}]
placement:
  clusterAffinity: {}
  replicaScheduling: {weightPreference: {}}
  workloadAffinity: {}
failover: {application: {decisionConditions: {}}, cluster: {}}
suspension: {dispatchingOnClusters: {}}
preserveResourcesOnDeletion: false`,
	"zero is not nothing where Karmada tells them apart": `
resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
priority: 0
suspension: {dispatching: false}
failover: {application: {decisionConditions: {tolerationSeconds: 0}, gracePeriodSeconds: 600, purgeMode: Gracefully}}
placement: {clusterTolerations: [{key: a, operator: Exists, tolerationSeconds: 0}]}`,
	"divided by weight": `
resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: frontend, namespace: shop}]
placement:
  clusterAffinity: {clusterNames: [m1, m2], exclude: [m3]}
  replicaScheduling:
    replicaSchedulingType: Divided
    replicaDivisionPreference: Weighted
    weightPreference:
      staticWeightList:
      - {targetCluster: {clusterNames: [m1]}, weight: 1}
      - {targetCluster: {labelSelector: {matchLabels: {tier: a, zone: b}}}, weight: 9007199254740993}
  spreadConstraints: [{spreadByField: cluster, minGroups: 1, maxGroups: 2}, {spreadByLabel: rack}]`,
}

var storedOverride = map[string]string{
	"no selector and no rule": `overriders: {}`,
	"a value that is null, and one that is false": `
overrideRules:
- overriders:
    plaintext:
    - {path: /metadata/labels/a, operator: remove, value: null}
    - {path: /spec/paused, operator: replace, value: false}
    - {path: /spec/replicas, operator: add, value: 9007199254740993}
    - {path: /spec/x, operator: add, value: {a: [1, null, {b: ""}]}}
overriders: {}`,
	"labels with an empty value": `
resourceSelectors: [{apiVersion: v1, kind: Secret, namespace: shop, name: a}]
overrideRules:
- targetCluster: {}
  overriders:
    labelsOverrider: [{operator: add, value: {a: "", b: c}}]
    argsOverrider: [{containerName: web, operator: remove, value: [--debug]}]
overriders: {}`,
	"the deprecated way": `
targetCluster: {clusterNames: [m1]}
overriders: {imageOverrider: [{component: Tag, operator: replace, value: "2"}]}`,
}

// What the API shows of a stored policy may be sent back, and means the same.
func TestStoredPoliciesComeBack(t *testing.T) {
	comeBack[policyv1alpha1.PropagationSpec](t, storedPropagation)
	comeBack[policyv1alpha1.OverrideSpec](t, storedOverride)
}

func comeBack[S any](t *testing.T, cases map[string]string) {
	t.Helper()
	schema := loadSchema(t)
	for reason, text := range cases {
		t.Run(reason, func(t *testing.T) {
			var stored S
			if err := yaml.UnmarshalStrict([]byte(text), &stored); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(stored, taken[S](t, shown(t, schema, &stored))); diff != "" {
				t.Errorf("(-stored +sent back):\n%s", diff)
			}
		})
	}
}

// Whatever an input may hold comes back too, and no field of it is lost.
func TestAnyInputComesBack(t *testing.T) {
	anyComesBack[policyv1alpha1.PropagationSpec](t, "PropagationSpecInput")
	anyComesBack[policyv1alpha1.OverrideSpec](t, "OverrideSpecInput")
}

func anyComesBack[S any](t *testing.T, input string) {
	t.Helper()
	schema := loadSchema(t)
	full := taken[S](t, filler{schema: schema, full: true}.object(input))
	for _, path := range unset(reflect.ValueOf(full), "spec") {
		t.Errorf("%s was given and is not there", path)
	}
	if diff := cmp.Diff(full, taken[S](t, shown(t, schema, &full))); diff != "" {
		t.Errorf("everything at once (-given +sent back):\n%s", diff)
	}
	for seed := range uint64(100) {
		given := filler{schema: schema, random: rand.New(rand.NewPCG(seed, 7))}.object(input)
		spec := taken[S](t, given)
		if diff := cmp.Diff(spec, taken[S](t, shown(t, schema, &spec))); diff != "" {
			text, _ := json.Marshal(given)
			t.Fatalf("seed %d, %s (-given +sent back):\n%s", seed, text, diff)
		}
	}
}

// filler makes inputs: with every field, or by chance with values, nulls, empty
// values and nothing.
type filler struct {
	schema *gqlast.Schema
	full   bool
	random *rand.Rand
}

// chance is true once in n times.
func (f filler) chance(n int) bool { return !f.full && f.random.IntN(n) == 0 }

func (f filler) object(name string) map[string]any {
	out := map[string]any{}
	for _, field := range f.schema.Types[name].Fields {
		switch {
		case !field.Type.NonNull && f.chance(3): // left out
		case !field.Type.NonNull && f.chance(5):
			out[field.Name] = nil
		default:
			out[field.Name] = f.value(field.Type, name+"."+field.Name)
		}
	}
	return out
}

func (f filler) value(of *gqlast.Type, where string) any {
	if of.Elem != nil {
		list := []any{}
		if of.Elem.NamedType == "LabelInput" {
			list = append(list, map[string]any{"key": "a", "value": "1"}, map[string]any{"key": "b", "value": ""})
		} else if !f.chance(4) {
			list = append(list, f.value(of.Elem, where))
		}
		return list
	}
	def := f.schema.Types[of.NamedType]
	switch def.Kind {
	case gqlast.InputObject:
		return f.object(def.Name)
	case gqlast.Enum:
		if f.full {
			return def.EnumValues[0].Name
		}
		return def.EnumValues[f.random.IntN(len(def.EnumValues))].Name
	default:
	}
	switch of.NamedType {
	case "String":
		if f.chance(5) {
			return ""
		}
		return where
	case "Boolean":
		return !f.chance(2)
	case "Int", "Int64":
		if f.chance(3) {
			return 0
		}
		return 7
	case "JSON":
		if f.chance(3) {
			return []any{false, 0, "", map[string]any{}}
		}
		return map[string]any{"a": "b"}
	}
	panic("nothing says how to fill a " + of.NamedType)
}

// unset are the fields of a value that hold nothing, with all that is below them.
func unset(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	var out []string
	switch {
	case v.Type() == reflect.TypeFor[apiextensionsv1.JSON]():
	case v.Kind() == reflect.Pointer:
		out = unset(v.Elem(), path)
		if v.Elem().Kind() != reflect.Struct {
			out = nil
		}
	case v.Kind() == reflect.Struct:
		for field, of := range v.Fields() {
			out = append(out, unset(of, path+"."+field.Name)...)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			out = append(out, unset(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return out
}

// Labels are a list in the API and a map in Kubernetes.
func TestKeysAreGivenOnce(t *testing.T) {
	const (
		selector = `{instance: "alpha", namespace: "shop", name: "web", spec: {resourceSelectors: [{apiVersion: "v1", kind: "ConfigMap", labelSelector: {matchLabels: [{key: "a", value: "1"}, {key: "b"}, {key: "a"}]}}]}}`
		labels   = `{instance: "alpha", namespace: "shop", name: "web", spec: {overrideRules: [{overriders: {}}, {overriders: {labelsOverrider: [{operator: ADD, value: [{key: "a"}, {key: "a"}]}]}}]}}`
	)
	for _, tt := range []struct{ reason, query, argument string }{
		{"a selector", `mutation { createPropagationPolicy(input: ` + selector + `) { __typename } }`, "input.spec.resourceSelectors[0].labelSelector.matchLabels[2].key: "},
		{"labels that are added", `mutation { createOverridePolicy(input: ` + labels + `) { __typename } }`, "input.spec.overrideRules[1].overriders.labelsOverrider[0].value[1].key: "},
	} {
		resp := run(t, &Resolver{}, intercept{}, tt.query, "")
		if len(resp.Errors) != 1 || !strings.Contains(resp.Errors[0].Error(), tt.argument) {
			t.Errorf("%s: got %v, want an error about %s", tt.reason, resp.Errors, tt.argument)
		}
	}
}
