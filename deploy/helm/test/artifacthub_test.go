package test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// listedKind is a kind as Artifact Hub lists it.
type listedKind struct {
	Kind        string `json:"kind"`
	Version     string `json:"version"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
}

// TestArtifactHubListsEveryKind compares the kinds that Chart.yaml lists with those that the chart installs.
func TestArtifactHubListsEveryKind(t *testing.T) {
	var listed []listedKind
	annotation(t, "artifacthub.io/crds", &listed)
	var got, want []string
	for _, kind := range listed {
		got = append(got, kind.Name+" "+kind.Version+" "+kind.Kind)
		if kind.DisplayName == "" || kind.Description == "" {
			t.Errorf("%s has no name for people, or no description", kind.Name)
		}
	}
	files, err := filepath.Glob(filepath.Join(chart, "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		read(t, file, &crd)
		for _, version := range crd.Spec.Versions {
			want = append(want, crd.Name+" "+version.Name+" "+crd.Spec.Names.Kind)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Chart.yaml lists %v, the chart installs %v", got, want)
	}
}

// TestArtifactHubExamplesAreValid has a real API server judge the examples in Chart.yaml.
func TestArtifactHubExamplesAreValid(t *testing.T) {
	kube := connect(t)
	var examples []map[string]any
	annotation(t, "artifacthub.io/crdsExamples", &examples)
	if len(examples) == 0 {
		t.Fatal("there are none")
	}
	for _, example := range examples {
		o := &unstructured.Unstructured{Object: example}
		if err := kube.Create(t.Context(), o, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Errorf("%s %s is refused: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// annotation reads the YAML in an annotation of the chart.
func annotation(t *testing.T, name string, into any) {
	t.Helper()
	var described struct {
		Annotations map[string]string `json:"annotations"`
	}
	read(t, filepath.Join(chart, "Chart.yaml"), &described)
	if err := yaml.UnmarshalStrict([]byte(described.Annotations[name]), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
