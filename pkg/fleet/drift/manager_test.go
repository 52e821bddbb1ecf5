package drift

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
)

func TestManagerOf(t *testing.T) {
	entry := func(name string, at int64, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(at, 0)}, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}
	}
	managers := []metav1.ManagedFieldsEntry{
		entry("karmada", 1, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:image":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}`),
		entry("hpa", 3, `{"f:spec":{"f:replicas":{}}}`),
		entry("kubectl-edit", 2, `{"f:metadata":{"f:finalizers":{".":{},"v:\"a\"":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}},"k:{\"name\":\"more\"}":{".":{},"f:name":{}}}}}}}`),
		{Manager: "kube-controller-manager", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:replicas":{}}}`)}},
		{Manager: "broken", FieldsV1: &metav1.FieldsV1{Raw: []byte(`[`)}},
	}
	key := func(keys ...string) []diff.Step {
		var steps []diff.Step
		for _, k := range keys {
			steps = append(steps, diff.Step{Key: k})
		}
		return steps
	}
	item := func(steps []diff.Step, item any, rest ...string) []diff.Step {
		return append(append(steps, diff.Step{Item: item}), key(rest...)...)
	}
	containers := key("spec", "template", "spec", "containers")
	web := map[string]any{"name": "web", "image": "x"}
	for _, c := range []struct {
		reason string
		steps  []diff.Step
		want   string
	}{
		{"the one that wrote last of two owners", key("spec", "replicas"), "hpa"},
		{"a field of an item", item(containers, web, "image"), "kubectl-edit"},
		{"a field that one owner has", item(containers, web, "name"), "karmada"},
		{"an item that was added", item(containers, map[string]any{"name": "more"}), "kubectl-edit"},
		{"an item that another one added", item(containers, map[string]any{"name": "else"}), ""},
		{"a part of a field that is owned as a whole", key("spec", "selector", "matchLabels", "a"), "karmada"},
		{"an item with two keys", item(item(containers, web, "ports"), map[string]any{"containerPort": int64(80), "protocol": "TCP"}, "containerPort"), "karmada"},
		{"a value in a set", item(key("metadata", "finalizers"), "a"), "kubectl-edit"},
		{"a label", key("metadata", "labels", "app"), "karmada"},
		{"a label without owner", key("metadata", "labels", "other"), ""},
	} {
		got := ""
		if m := (&Field{steps: c.steps}).ManagerOf(managers); m != nil {
			got = m.Name
			if m.Time == nil || m.Operation != "Update" {
				t.Errorf("%s: %+v", c.reason, m)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.reason, got, c.want)
		}
	}
}
