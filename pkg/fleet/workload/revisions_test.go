package workload

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/index"
)

func live(t *testing.T, text string) *index.Object {
	t.Helper()
	u := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	o, err := index.NewLive("m1", u, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// What the controllers of a member keep is read as the template that the workload had.
func TestRevisionsOf(t *testing.T) {
	workload := live(t, `{apiVersion: apps/v1, kind: Any, metadata: {name: web, namespace: shop, uid: w}}`)
	const owned = `, ownerReferences: [{apiVersion: apps/v1, kind: Any, name: web, uid: w, controller: true}]`
	template := func(image string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}},
		}
	}
	kept := func(number int, image string) Revision { return Revision{Number: number, Template: template(image)} }
	for _, tt := range []struct {
		reason  string
		kept    record
		objects []string
		want    []Revision
	}{
		{"ReplicaSets in the order of their numbers, without the label that tells them apart", replicaSets, []string{
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: b, annotations: {deployment.kubernetes.io/revision: "10"}` + owned + `}, spec: {template: {metadata: {labels: {app: web, pod-template-hash: b}}, spec: {containers: [{name: web, image: "web:2"}]}}}}`,
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "9"}` + owned + `}, spec: {template: {metadata: {labels: {app: web, pod-template-hash: a}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`,
		}, []Revision{kept(9, "web:1"), kept(10, "web:2")}},
		{"ControllerRevisions, without the mark of the patch", controllerRevisions, []string{
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b` + owned + `}, data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2"}]}}}}}`,
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, metadata: {name: a` + owned + `}, data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}}}`,
		}, []Revision{kept(1, "web:1"), kept(2, "web:2")}},
		{"those of others, and without an owner", controllerRevisions, []string{
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b}, data: {spec: {template: {spec: {}}}}}`,
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b, ownerReferences: [{apiVersion: apps/v1, kind: Any, name: web, uid: other, controller: true}]}, data: {spec: {template: {spec: {}}}}}`,
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b, ownerReferences: [{apiVersion: apps/v1, kind: Any, name: web, uid: w}]}, data: {spec: {template: {spec: {}}}}}`,
		}, nil},
		{"one without a template", controllerRevisions, []string{`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b` + owned + `}, data: {other: 1}}`}, nil},
		{"one that is not numbered yet", replicaSets, []string{`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a` + owned + `}, spec: {template: {spec: {}}}}`}, nil},
	} {
		var objects []*index.Object
		for _, text := range tt.objects {
			objects = append(objects, live(t, text))
		}
		got, err := revisionsOf(tt.kept, workload, objects)
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
	for _, k := range Kinds() {
		if _, ok := records[k]; ok != slices.Contains(KindsWithRevisions(), k) {
			t.Errorf("%s: whether it has revisions is said in two ways", k)
		}
	}
}
