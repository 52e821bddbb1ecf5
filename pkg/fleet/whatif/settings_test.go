package whatif

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestFingerprintsHaveSettings checks that a fingerprint says by which settings it is computed anew.
func TestFingerprintsHaveSettings(t *testing.T) {
	for _, s := range []Settings{{}, {PolicyPreemption: true}, {NoExecuteEviction: true}, {PolicyPreemption: true, NoExecuteEviction: true}} {
		r, err := ClusterLoss(&World{Settings: s}, Loss{Mode: Cordon})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := SettingsOf(r.Fingerprint); !ok || got != s {
			t.Errorf("%s: got %+v, %t, want %+v", r.Fingerprint, got, ok, s)
		}
	}
	for _, text := range []string{"", "none", "-0", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef-4", "0123456789abcdef0123456789abcdef--1", "0123456789abcdef0123456789abcdef-1-1"} {
		if _, ok := SettingsOf(text); ok {
			t.Errorf("%q is taken for a fingerprint", text)
		}
	}
}

// TestNeedsSpec checks of which kinds Karmada reads replicas.
func TestNeedsSpec(t *testing.T) {
	for _, tt := range []struct {
		apiVersion, kind string
		want             bool
	}{
		{"apps/v1", "Deployment", true}, {"batch/v1", "Job", true}, {"v1", "ConfigMap", false},
		{"apps.kruise.io/v1alpha1", "CloneSet", true}, {"example.com/v1", "Unknown", false},
	} {
		if got := NeedsSpec(schema.FromAPIVersionAndKind(tt.apiVersion, tt.kind)); got != tt.want {
			t.Errorf("%s: got %t", tt.kind, got)
		}
	}
}
