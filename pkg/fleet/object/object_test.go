package object_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		in   map[string]string
		want []object.Pair
		why  string
	}{
		{nil, []object.Pair{}, "a list is empty and never null"},
		{map[string]string{"b": "1", "a/z": "", "a": "2", "B": "3"}, []object.Pair{{"B", "3"}, {"a", "2"}, {"a/z", ""}, {"b", "1"}}, "by key, so that two answers are alike"},
	} {
		if diff := cmp.Diff(tt.want, object.Pairs(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}

func TestConditions(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	in := []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Up", Message: "all well", LastTransitionTime: metav1.NewTime(when), ObservedGeneration: 3},
		{Type: "Applied", Status: metav1.ConditionUnknown},
	}
	utc, three := when.UTC(), int64(3)
	want := []object.Condition{
		{Type: "Ready", Status: "True", Reason: "Up", Message: "all well", LastTransitionTime: &utc, ObservedGeneration: &three},
		{Type: "Applied", Status: "Unknown"},
	}
	got := object.Conditions(in)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in their order, and null where nothing was said (-want +got):\n%s", diff)
	}
	if zone := got[0].LastTransitionTime.Location(); zone != time.UTC {
		t.Errorf("times are in UTC, not in %s", zone)
	}
	if got := object.Conditions(nil); got == nil || len(got) != 0 {
		t.Errorf("a list is empty and never null: %v", got)
	}
}

func TestOptional(t *testing.T) {
	if object.Optional("") != nil || object.Optional(0) != nil || object.Time(metav1.Time{}) != nil {
		t.Error("nothing is null")
	}
	if got := object.Optional("x"); got == nil || *got != "x" {
		t.Errorf("something is not: %v", got)
	}
}

func TestOrder(t *testing.T) {
	byDefault := index.Order{Field: index.OrderByCreation, Desc: true}
	for _, tt := range []struct {
		order *object.Order
		want  index.Order
		why   string
	}{
		{nil, byDefault, "it is not stated"},
		{&object.Order{Field: object.OrderFieldName, Direction: object.Ascending}, index.Order{Field: index.OrderByName}, "by name"},
		{&object.Order{Field: object.OrderFieldName, Direction: object.Descending}, index.Order{Field: index.OrderByName, Desc: true}, "backwards"},
		{&object.Order{Field: object.OrderFieldNamespace, Direction: object.Ascending}, index.Order{Field: index.OrderByNamespace}, "by namespace"},
		{&object.Order{Field: object.OrderFieldCreatedAt, Direction: object.Descending}, index.Order{Field: index.OrderByCreation, Desc: true}, "newest first"},
		{&object.Order{Field: object.OrderFieldName}, index.Order{Field: index.OrderByName}, "ascending where no direction is said"},
	} {
		if diff := cmp.Diff(tt.want, tt.order.Index(byDefault)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}

// An object shows what its cluster said, and nothing that the index added.
func TestObject(t *testing.T) {
	row := fleettest.Row(index.ResourceBindings, "k-alpha", "shop", "web")
	row.UID, row.Labels, row.Annotations = "u-1", map[string]string{"b": "1", "a": "2"}, map[string]string{"note": "x"}
	row.Body = map[string]any{"spec": map[string]any{"replicas": 3}}
	fresh := freshness.Freshness{Source: freshness.SourceIndex}
	o := object.New("alpha", fleettest.Object(t, row, index.Whole), fresh)
	got := []any{o.InstanceName(), o.APIVersion(), o.ObjectKind(), o.Name(), o.Namespace(), o.UID(), o.CreatedAt(), o.Deleting(), o.Labels(), o.Annotations(), o.Freshness()}
	want := []any{
		"alpha", "work.karmada.io/v1alpha2", "ResourceBinding", "web", "shop", "u-1", row.CreatedAt, false,
		[]object.Pair{{Key: "a", Value: "2"}, {Key: "b", Value: "1"}}, []object.Pair{{Key: "note", Value: "x"}}, fresh,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	whole, err := o.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]any
	if err := json.Unmarshal(whole, &manifest); err != nil {
		t.Fatal(err)
	}
	text, err := o.Yaml()
	if err != nil {
		t.Fatal(err)
	}
	var fromYAML map[string]any
	if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest, fromYAML); diff != "" {
		t.Errorf("the manifest and the YAML differ:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"note": "x"}, manifest["metadata"].(map[string]any)["annotations"]); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"replicas": 3.0}, manifest["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// What has no manifest must not show half of one.
func TestObjectWithoutManifest(t *testing.T) {
	o := object.New("alpha", fleettest.Object(t, fleettest.Row(index.Deployments, "k-alpha", "shop", "web"), index.Metadata), freshness.Freshness{})
	if m, err := o.Manifest(); err == nil {
		t.Errorf("got %v", m)
	}
	if text, err := o.Yaml(); err == nil {
		t.Errorf("got %s", text)
	}
}
