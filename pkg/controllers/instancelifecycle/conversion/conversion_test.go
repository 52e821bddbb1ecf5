package conversion_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
)

var update = flag.Bool("update", false, "write what the conversion makes into testdata")

var (
	remote = conversion.Host{Endpoint: "https://10.0.0.1:6443", Secret: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "k-alpha-host"}}
	local  = conversion.Host{Local: true, Endpoint: "https://10.0.0.2:6443"}
)

// TestGolden compares what the operator is asked for with what is in testdata:
// <case>.instance.yaml becomes <case>.karmada.yaml. Run it with -update after a
// change that is meant.
func TestGolden(t *testing.T) {
	for name, host := range map[string]conversion.Host{
		"smallest":       remote, // Nothing but the host: the operator decides the rest.
		"everything":     remote, // Every field of the spec.
		"local":          local,  // The host is the operator's own cluster.
		"switched-off":   remote, // What is disabled is scaled down, not left out.
		"version-alone":  remote, // A version pins every image of Karmada and the CRDs.
		"registry-alone": remote, // A mirror serves every image, at the operator's versions.
	} {
		t.Run(name, func(t *testing.T) {
			instance := &v1alpha1.Instance{}
			read(t, name+".instance.yaml", instance)
			object, err := conversion.Object(conversion.Karmada(instance, host))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".karmada.yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the Karmada (-want +got):\n%s", diff)
			}
			// The operator has to understand every field of it.
			if err := yaml.UnmarshalStrict(got, &operatorv1alpha1.Karmada{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

// TestConversionIsPure: the same Instance gives the same bytes, and is not changed.
func TestConversionIsPure(t *testing.T) {
	instance := &v1alpha1.Instance{}
	read(t, "everything.instance.yaml", instance)
	before := instance.DeepCopy()
	convert := func() []byte {
		object, err := conversion.Object(conversion.Karmada(instance, remote))
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if first, second := convert(), convert(); !bytes.Equal(first, second) {
		t.Errorf("twice gives\n%s\nand\n%s", first, second)
	}
	if diff := cmp.Diff(before, instance); diff != "" {
		t.Errorf("the Instance was changed (-before +after):\n%s", diff)
	}
}
