package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

const (
	karmadaPolicy  = "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	kubernetesCore = "k8s.io/api/core/v1"
	kubernetesMeta = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// boundEnum is an enum with the Go type it stands for, and its functions with the type erased.
type boundEnum struct {
	graphql   string
	goPackage string
	goType    string
	// write gives the GraphQL text of a Go value; read gives the Go value of a GraphQL value.
	write func(string) string
	read  func(any) (string, error)
}

func bind[T ~string](graphqlName, goPackage, goType string, m func(T) graphql.Marshaler, u func(any) (T, error)) boundEnum {
	return boundEnum{
		graphql: graphqlName, goPackage: goPackage, goType: goType,
		write: func(s string) string { return written(m(T(s))) },
		read: func(v any) (string, error) {
			out, err := u(v)
			return string(out), err
		},
	}
}

func written(m graphql.Marshaler) string {
	var b strings.Builder
	m.MarshalGQL(&b)
	return b.String()
}

func boundEnums() []boundEnum {
	return []boundEnum{
		bind("ActivationPreference", karmadaPolicy, "ActivationPreference", MarshalActivationPreference, UnmarshalActivationPreference),
		bind("ConflictResolution", karmadaPolicy, "ConflictResolution", MarshalConflictResolution, UnmarshalConflictResolution),
		bind("DynamicWeightFactor", karmadaPolicy, "DynamicWeightFactor", MarshalDynamicWeightFactor, UnmarshalDynamicWeightFactor),
		bind("FieldSelectorOperator", kubernetesCore, "NodeSelectorOperator", MarshalFieldSelectorOperator, UnmarshalFieldSelectorOperator),
		bind("ImageComponent", karmadaPolicy, "ImageComponent", MarshalImageComponent, UnmarshalImageComponent),
		bind("LabelSelectorOperator", kubernetesMeta, "LabelSelectorOperator", MarshalLabelSelectorOperator, UnmarshalLabelSelectorOperator),
		bind("OverriderOperator", karmadaPolicy, "OverriderOperator", MarshalOverriderOperator, UnmarshalOverriderOperator),
		bind("PreemptionBehavior", karmadaPolicy, "PreemptionBehavior", MarshalPreemptionBehavior, UnmarshalPreemptionBehavior),
		bind("PriorityClassSource", karmadaPolicy, "PriorityClassSource", MarshalPriorityClassSource, UnmarshalPriorityClassSource),
		bind("PurgeMode", karmadaPolicy, "PurgeMode", MarshalPurgeMode, UnmarshalPurgeMode),
		bind("ReplicaDivisionPreference", karmadaPolicy, "ReplicaDivisionPreference", MarshalReplicaDivisionPreference, UnmarshalReplicaDivisionPreference),
		bind("ReplicaSchedulingType", karmadaPolicy, "ReplicaSchedulingType", MarshalReplicaSchedulingType, UnmarshalReplicaSchedulingType),
		bind("SpreadField", karmadaPolicy, "SpreadFieldValue", MarshalSpreadField, UnmarshalSpreadField),
		bind("TaintEffect", kubernetesCore, "TaintEffect", MarshalTaintEffect, UnmarshalTaintEffect),
		bind("TolerationOperator", kubernetesCore, "TolerationOperator", MarshalTolerationOperator, UnmarshalTolerationOperator),
	}
}

// stringConstants reads a package's source and gives, by type, the values of
// its typed string constants. Reflection cannot list constants.
func stringConstants(t *testing.T, path string) map[string][]string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of %s: %v", path, err)
	}
	out := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.CONST {
				continue
			}
			for _, spec := range general.Specs {
				value := spec.(*ast.ValueSpec)
				typeName, ok := value.Type.(*ast.Ident)
				if !ok || len(value.Values) != 1 {
					continue
				}
				if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					out[typeName.Name] = append(out[typeName.Name], text)
				}
			}
		}
	}
	return out
}

func TestEnumsCoverEveryConstant(t *testing.T) {
	constants := map[string]map[string][]string{}
	for _, path := range []string{karmadaPolicy, kubernetesCore, kubernetesMeta} {
		constants[path] = stringConstants(t, path)
	}
	schema := definitions(t)
	enums := boundEnums()
	for _, e := range enums {
		t.Run(e.graphql, func(t *testing.T) {
			def := schema[e.graphql]
			if def == nil {
				t.Fatal("the schema has no such enum")
			}
			unused := map[string]bool{}
			for _, value := range def.EnumValues {
				unused[value.Name] = true
			}
			goValues := constants[e.goPackage][e.goType]
			if len(goValues) == 0 {
				t.Fatalf("%s.%s has no constants", e.goPackage, e.goType)
			}
			for _, goValue := range goValues {
				text := e.write(goValue)
				name, err := strconv.Unquote(text)
				if err != nil || !unused[name] {
					t.Errorf("%q is written as %s, which is not a value of the enum or is taken", goValue, text)
					continue
				}
				delete(unused, name)
				back, err := e.read(name)
				if err != nil || back != goValue {
					t.Errorf("%q is written as %s and read back as %q, %v", goValue, text, back, err)
				}
			}
			if len(unused) > 0 {
				t.Errorf("no constant is written as %v", slices.Sorted(maps.Keys(unused)))
			}
		})
	}

	// Every enum that the schema binds to this package is in the list above.
	for name, def := range schema {
		if model := modelOf(def); !strings.HasSuffix(model, "/pkg/fleet/policy."+name) || def.EnumValues == nil {
			continue
		}
		if !slices.ContainsFunc(enums, func(e boundEnum) bool { return e.graphql == name }) {
			t.Errorf("enum %s is bound to this package and not tested", name)
		}
	}
}

func TestEnumEdges(t *testing.T) {
	tests := []struct {
		reason string
		got    string
		want   string
	}{
		{"a value that was not given is null, since no enum has an empty value", written(MarshalPurgeMode("")), "null"},
		{"a value that only a later Karmada knows is null; the manifest shows it", written(MarshalPurgeMode("Eventually")), "null"},
		{"a value is written as a JSON string", written(MarshalPurgeMode(policyv1alpha1.Never)), `"NEVER"`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.reason, tt.got, tt.want)
		}
	}
	if v, err := UnmarshalPurgeMode(nil); err != nil || v != "" {
		t.Errorf("null is read as it is written, as nothing: got %q, %v", v, err)
	}
	for reason, input := range map[string]any{
		"Karmada's own spelling is not GraphQL's": "Never",
		"a number is no enum value":               7,
	} {
		if v, err := UnmarshalPurgeMode(input); err == nil {
			t.Errorf("%s: %v was read as %q", reason, input, v)
		}
	}
}

func TestRawJSON(t *testing.T) {
	tests := []struct {
		reason string
		raw    string
		want   string
	}{
		{"no value, as for a removal", "", "null"},
		{"a string stays a JSON string", `"a \"b\""`, `"a \"b\""`},
		{"a structure is written as it is", `{"a":[1,2.5,null]}`, `{"a":[1,2.5,null]}`},
	}
	for _, tt := range tests {
		if got := written(MarshalRawJSON(apiextensionsv1.JSON{Raw: []byte(tt.raw)})); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.reason, got, tt.want)
		}
	}
	read, err := UnmarshalRawJSON(map[string]any{"a": []any{1, "x", nil}})
	if err != nil || string(read.Raw) != `{"a":[1,"x",null]}` {
		t.Errorf("a structure was read as %s, %v", read.Raw, err)
	}
	if _, err := UnmarshalRawJSON(func() {}); err == nil {
		t.Error("a function was read as JSON")
	}
}
