package manifest

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// compared are the comparisons of a captured workload in m1 and m2.
func compared(t *testing.T, change func(s *Source)) map[string]Comparison {
	t.Helper()
	s, works, _ := captured(t, "frontend")
	change(s)
	all, err := Compare(s, works)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Comparison{}
	for _, c := range all {
		by[c.Cluster] = c
	}
	return by
}

func TestCompare(t *testing.T) {
	same := compared(t, func(*Source) {})
	if c := same["m1"]; c.Effect != EffectUnchanged || c.TotalFields != 0 || c.Fields == nil {
		t.Errorf("nothing changes: %+v", c)
	}
	changed := compared(t, func(s *Source) {
		_ = unstructured.SetNestedField(s.Template.Object, "x", "metadata", "labels", "more")
	})
	if c := changed["m1"]; c.Effect != EffectChanged || c.TotalFields != 2 || c.Fields[1].Path != "/metadata/labels/more" || *c.Fields[1].After != `"x"` {
		t.Errorf("a label: %+v", c)
	}
	s, _, _ := captured(t, "frontend")
	created, err := Compare(s, nil)
	if err != nil || created[0].Effect != EffectCreated || created[0].TotalFields == 0 {
		t.Errorf("no Work: %+v, %v", created, err)
	}
	s, works, _ := captured(t, "frontend", override("shop", replace("/spec/none/there", "1")))
	failed, err := Compare(s, works)
	if err != nil || failed[0].Effect != EffectFailed || failed[0].Message == "" {
		t.Errorf("an override that cannot be applied: %+v, %v", failed, err)
	}
}

// TestSecretsAreConcealed checks that no value of a Secret is shown, and that the fingerprint does not depend on it.
func TestSecretsAreConcealed(t *testing.T) {
	of := func(value string) []Comparison {
		s, _, _ := captured(t, "frontend")
		s.Template = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "shop", "name": "s"}, "data": map[string]any{"password": value},
		}}
		s.Binding.Spec.Replicas = 0
		s.Binding.Spec.ReplicaRequirements = nil
		all, err := Compare(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	a := of("YQ==")
	for _, c := range a[0].Fields {
		if c.Path == "/data" && (c.Before != nil || *c.After != concealed) {
			t.Errorf("the data is %s", *c.After)
		}
	}
	if Fingerprint(a) != Fingerprint(of("Yg==")) {
		t.Error("the fingerprint depends on the value of a Secret")
	}
}

func TestFingerprint(t *testing.T) {
	list := func(by map[string]Comparison) []Comparison {
		var all []Comparison
		for _, c := range by {
			all = append(all, c)
		}
		Sort(all)
		return all
	}
	label := func(value string) []Comparison {
		return list(compared(t, func(s *Source) {
			_ = unstructured.SetNestedField(s.Template.Object, value, "metadata", "labels", "more")
		}))
	}
	x := Fingerprint(label("x"))
	if again := Fingerprint(label("x")); again != x {
		t.Error("the same change has two fingerprints")
	}
	if Fingerprint(label("y")) == x {
		t.Error("two changes have the same fingerprint")
	}
	if all := label("x"); all[0].Cluster != "m1" || all[1].Cluster != "m2" {
		t.Errorf("the order is %s, %s", all[0].Cluster, all[1].Cluster)
	}
}
