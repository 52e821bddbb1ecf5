package interpreter

import (
	"testing"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func object(apiVersion, kind string, replicas int64, labels map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName("a")
	u.SetLabels(labels)
	return u
}

func replicas(t *testing.T, u *unstructured.Unstructured, err error) int64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	return n
}

func TestReviseReplica(t *testing.T) {
	for _, c := range []struct {
		reason, apiVersion, kind string
		want                     int64
	}{
		{"Kubernetes' own kind", "apps/v1", "Deployment", 3},
		{"a kind of a third party", "apps.kruise.io/v1alpha1", "CloneSet", 3},
		{"a kind without interpreter stays as it is", "example.com/v1", "Thing", 7},
	} {
		revised, err := ReviseReplica(object(c.apiVersion, c.kind, 7, nil), 3)
		if got := replicas(t, revised, err); got != c.want {
			t.Errorf("%s: %d replicas, not %d", c.reason, got, c.want)
		}
	}
}

func TestRetain(t *testing.T) {
	observed := object("apps/v1", "Deployment", 9, nil)
	retained, err := Retain(object("apps/v1", "Deployment", 1, nil), observed)
	if got := replicas(t, retained, err); got != 1 {
		t.Errorf("%d replicas are retained without being asked to", got)
	}
	retained, err = Retain(object("apps/v1", "Deployment", 1, map[string]string{"resourcetemplate.karmada.io/retain-replicas": "true"}), observed)
	if got := replicas(t, retained, err); got != 9 {
		t.Errorf("the cluster's replicas are not retained: %d", got)
	}
}

func TestCustomizes(t *testing.T) {
	of := func(name, kind string) *configv1alpha1.ResourceInterpreterCustomization {
		c := &configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "apps/v1", Kind: kind}
		c.Spec.Customizations.Retention = &configv1alpha1.LocalValueRetention{LuaScript: "x"}
		return c
	}
	all := []*configv1alpha1.ResourceInterpreterCustomization{of("other", "StatefulSet"), of("z", "Deployment"), of("b", "Deployment")}
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if got := Customizes(all, deployment, configv1alpha1.InterpreterOperationRetain); got != "b" {
		t.Errorf("Retain is decided by %q", got)
	}
	if got := Customizes(all, deployment, configv1alpha1.InterpreterOperationReviseReplica); got != "" {
		t.Errorf("ReviseReplica is decided by %q", got)
	}
}
