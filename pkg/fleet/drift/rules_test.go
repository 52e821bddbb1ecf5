package drift

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// set sets a field of an object; a nil value removes it.
func set(t *testing.T, u *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if value == nil {
		unstructured.RemoveNestedField(u.Object, path...)
		return
	}
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// container is the first container of an object's pod template.
func container(t *testing.T, u *unstructured.Unstructured) map[string]any {
	t.Helper()
	spec, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "template", "spec")
	containers, ok := spec.(map[string]any)["containers"].([]any)
	if !ok {
		t.Fatal("it has no containers")
	}
	return containers[0].(map[string]any) //nolint:forcetypeassert // It was saved so.
}

// sendChanged changes what Karmada sent.
func sendChanged(t *testing.T, o *Observed, change func(u *unstructured.Unstructured)) {
	t.Helper()
	u := &unstructured.Unstructured{}
	manifest := &o.Work.Spec.Workload.Manifests[0]
	if err := u.UnmarshalJSON(manifest.Raw); err != nil {
		t.Fatal(err)
	}
	change(u)
	raw, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	manifest.Raw = raw
}

// TestDrift changes the object of a Deployment in a member, or what is known of it.
func TestDrift(t *testing.T) {
	suspended := true
	for _, c := range []struct {
		reason  string
		change  func(o *Observed)
		drifted bool
		action  Action
		fields  string
	}{
		{"nothing was changed", func(*Observed) {}, false, ActionNone, ""},
		{
			"another image", func(o *Observed) { container(t, o.Object)["image"] = "x:1" },
			true, ActionOverwrite, `/spec/template/spec/containers/0/image: "registry.example.com/shop/frontend:1.7.2" -> "x:1"`,
		},
		{
			"more replicas", func(o *Observed) { set(t, o.Object, int64(9), "spec", "replicas") },
			true, ActionOverwrite, `/spec/replicas: 1 -> 9`,
		},
		{
			"more replicas, which Karmada leaves to the cluster", func(o *Observed) {
				label := "resourcetemplate.karmada.io/retain-replicas"
				sendChanged(t, o, func(u *unstructured.Unstructured) { set(t, u, "true", "metadata", "labels", label) })
				set(t, o.Object, "true", "metadata", "labels", label)
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			false, ActionNone, `/spec/replicas: 1 -> 9 retained`,
		},
		{"a default of the cluster", func(o *Observed) { set(t, o.Object, "x", "spec", "template", "spec", "nodeName") }, false, ActionNone, ""},
		{"a label that a controller of the cluster added", func(o *Observed) { set(t, o.Object, "x", "metadata", "labels", "own") }, false, ActionNone, ""},
		{
			"a label that Karmada sent", func(o *Observed) { set(t, o.Object, "x", "metadata", "labels", "app") },
			true, ActionOverwrite, `/metadata/labels/app: "frontend" -> "x"`,
		},
		{
			"an annotation that Karmada sent", func(o *Observed) { set(t, o.Object, "x", "metadata", "annotations", "work.karmada.io/name") },
			true, ActionOverwrite, `/metadata/annotations/work.karmada.io~1name: "frontend-5c9c546644" -> "x"`,
		},
		{
			"one more container", func(o *Observed) {
				containers, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "template", "spec", "containers")
				set(t, o.Object, append(containers, map[string]any{"name": "more"}), "spec", "template", "spec", "containers")
			},
			true, ActionOverwrite, `/spec/template/spec/containers/1: - -> {"name":"more"}`,
		},
		{
			"the same quantity in another notation", func(o *Observed) {
				sendChanged(t, o, func(u *unstructured.Unstructured) {
					container(t, u)["resources"] = map[string]any{"limits": map[string]any{"cpu": "1000m"}}
				})
				container(t, o.Object)["resources"] = map[string]any{"limits": map[string]any{"cpu": "1"}}
			},
			false, ActionNone, "",
		},
		{
			"another quantity", func(o *Observed) {
				sendChanged(t, o, func(u *unstructured.Unstructured) {
					container(t, u)["resources"] = map[string]any{"limits": map[string]any{"cpu": "1000m"}}
				})
				container(t, o.Object)["resources"] = map[string]any{"limits": map[string]any{"cpu": "2"}}
			},
			true, ActionOverwrite, `/spec/template/spec/containers/0/resources/limits/cpu: "1000m" -> "2"`,
		},
		{
			"a field that is newer than Kairship", func(o *Observed) {
				sendChanged(t, o, func(u *unstructured.Unstructured) { set(t, u, "a", "spec", "newer") })
				set(t, o.Object, "b", "spec", "newer")
			},
			true, ActionOverwrite, `/spec/newer: "a" -> "b"`,
		},
		{
			"the old name of a field, which the API server derives", func(o *Observed) {
				sendChanged(t, o, func(u *unstructured.Unstructured) {
					set(t, u, "old", "spec", "template", "spec", "serviceAccount")
					set(t, u, "new", "spec", "template", "spec", "serviceAccountName")
				})
				set(t, o.Object, "new", "spec", "template", "spec", "serviceAccount")
				set(t, o.Object, "new", "spec", "template", "spec", "serviceAccountName")
			},
			false, ActionNone, "",
		},
		{
			"dispatching is suspended", func(o *Observed) {
				o.Work.Spec.SuspendDispatching = &suspended
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			true, ActionSuspended, `/spec/replicas: 1 -> 9`,
		},
		{
			"the cluster is not ready", func(o *Observed) {
				o.Unreachable = "it is down"
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			true, ActionUnreachable, `/spec/replicas: 1 -> 9`,
		},
		{
			"the object is not marked as Karmada's any more", func(o *Observed) { set(t, o.Object, nil, "metadata", "labels", "karmada.io/managed") },
			true, ActionConflict, `/metadata/labels/karmada.io~1managed: "true" -> -`,
		},
		{
			"the same, where Karmada may overwrite it", func(o *Observed) {
				set(t, o.Object, nil, "metadata", "labels", "karmada.io/managed")
				sendChanged(t, o, func(u *unstructured.Unstructured) {
					set(t, u, "overwrite", "metadata", "annotations", "work.karmada.io/conflict-resolution")
				})
				set(t, o.Object, "overwrite", "metadata", "annotations", "work.karmada.io/conflict-resolution")
			},
			true, ActionOverwrite, `/metadata/labels/karmada.io~1managed: "true" -> -`,
		},
		{
			"the latest change is on its way", func(o *Observed) {
				sendChanged(t, o, func(u *unstructured.Unstructured) {
					set(t, u, "99", "metadata", "annotations", "resourcetemplate.karmada.io/generation")
				})
			},
			false, ActionPending, `/metadata/annotations/resourcetemplate.karmada.io~1generation: "99" -> "2"`,
		},
		{
			"it is leaving the cluster", func(o *Observed) {
				o.Leaving = true
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			true, ActionRemove, `/spec/replicas: 1 -> 9`,
		},
		{
			"its Work is being deleted", func(o *Observed) {
				o.Work.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			true, ActionRemove, `/spec/replicas: 1 -> 9`,
		},
		{
			"an interpreter of the instance decides", func(o *Observed) {
				o.Interpreter = "own"
				set(t, o.Object, int64(9), "spec", "replicas")
			},
			false, ActionInterpreter, `/spec/replicas: 1 -> 9`,
		},
	} {
		o := captured(t, "frontend", "m1")
		c.change(o)
		d, err := Of(o)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if d.Drifted != c.drifted || d.Action != c.action {
			t.Errorf("%s: %v %s, not %v %s", c.reason, d.Drifted, d.Action, c.drifted, c.action)
		}
		if got := strings.TrimSuffix(lines(d), "\n"); got != c.fields {
			t.Errorf("%s: the fields are\n%s\nnot\n%s", c.reason, got, c.fields)
		}
		if d.Message == "" {
			t.Errorf("%s: no message", c.reason)
		}
	}
}

// TestAnnotationOfOtherKinds checks that Karmada does not look at annotations where they leave the generation as it is.
func TestAnnotationOfOtherKinds(t *testing.T) {
	o := captured(t, "cart", "m1")
	set(t, o.Object, "x", "metadata", "annotations", "work.karmada.io/name")
	if d, err := Of(o); err != nil || !d.Drifted || d.Action != ActionNextSync {
		t.Errorf("an annotation: %+v, %v", d, err)
	}
	set(t, o.Object, "x", "metadata", "labels", "app")
	if d, err := Of(o); err != nil || d.Action != ActionOverwrite {
		t.Errorf("an annotation and a label: %+v, %v", d, err)
	}
}

// TestOtherManifest checks that a Work which carries something else says nothing.
func TestOtherManifest(t *testing.T) {
	o := captured(t, "frontend", "m1")
	o.Object.SetName("other")
	if d, err := Of(o); d != nil || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFieldsAreLimited(t *testing.T) {
	o := captured(t, "frontend", "m1")
	sendChanged(t, o, func(u *unstructured.Unstructured) {
		for i := range MaxFields + 20 {
			set(t, u, "x", "metadata", "annotations", "a"+strings.Repeat("b", i+1))
		}
	})
	d, err := Of(o)
	if err != nil || len(d.Fields) != MaxFields || d.TotalFields != MaxFields+20 {
		t.Errorf("%d of %d fields, %v", len(d.Fields), d.TotalFields, err)
	}
}
