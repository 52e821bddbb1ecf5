package karmadaresource

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// definitions are those of the schema, by name.
func definitions(t *testing.T) map[string]*ast.Definition {
	t.Helper()
	files, err := filepath.Glob("../../../graph/schema/*.graphqls")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schema files found: %v", err)
	}
	out := map[string]*ast.Definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parser.ParseSchema(&ast.Source{Name: file, Input: string(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, def := range doc.Definitions {
			out[def.Name] = def
		}
	}
	return out
}

// same compares the fields of a struct, and of the structs in it, with those of a type of the schema,
// or with those of the input that fills it. An update replaces the whole spec, so that a field which is
// missing would be lost.
func same(t *testing.T, defs map[string]*ast.Definition, goType reflect.Type, name string, seen map[string]bool) {
	t.Helper()
	if seen[name] {
		return
	}
	seen[name] = true
	def := defs[name]
	if def == nil {
		t.Errorf("the schema has no %s", name)
		return
	}
	inGo := map[string]bool{}
	for field := range goType.Fields() {
		jsonName, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inGo[jsonName] = true
		shown := def.Fields.ForName(jsonName)
		if shown == nil {
			t.Errorf("%s.%s: Karmada has it and the schema has not", name, jsonName)
			continue
		}
		of := field.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && of != reflect.TypeFor[resource.Quantity]() && of != reflect.TypeFor[metav1.LabelSelector]() {
			same(t, defs, of, shown.Type.Name(), seen)
		}
	}
	for _, f := range def.Fields {
		if !inGo[f.Name] {
			t.Errorf("%s.%s: the schema has it and Karmada has not", name, f.Name)
		}
	}
}

func TestSchemaShowsWholeSpecs(t *testing.T) {
	defs, seen := definitions(t), map[string]bool{}
	for name, of := range map[string]reflect.Type{
		"FederatedHPASpec":           reflect.TypeFor[autoscalingv1alpha1.FederatedHPASpec](),
		"CronFederatedHPASpec":       reflect.TypeFor[autoscalingv1alpha1.CronFederatedHPASpec](),
		"MultiClusterServiceSpec":    reflect.TypeFor[networkingv1alpha1.MultiClusterServiceSpec](),
		"FederatedResourceQuotaSpec": reflect.TypeFor[policyv1alpha1.FederatedResourceQuotaSpec](),
		"WorkloadRebalancerSpec":     reflect.TypeFor[appsv1alpha1.WorkloadRebalancerSpec](),
	} {
		same(t, defs, of, name, seen)
		same(t, defs, of, name+"Input", seen)
	}
	if len(seen) < 40 {
		t.Errorf("only %d types were compared", len(seen))
	}
}
