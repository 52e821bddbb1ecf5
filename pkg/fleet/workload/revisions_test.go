package workload

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/fleet/listing"
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
	cause := "a better one"
	kept := func(number int, image string, current bool) Revision {
		r := Revision{Cluster: "m1", Number: number, Template: template(image), Images: []string{image}, Current: current}
		if current {
			r.ChangeCause = &cause
		}
		return r
	}
	for _, tt := range []struct {
		reason  string
		kept    record
		objects []string
		want    []Revision
	}{
		{"ReplicaSets in the order of their numbers, without the label that tells them apart", replicaSets, []string{
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: b, annotations: {deployment.kubernetes.io/revision: "10", kubernetes.io/change-cause: a better one}` + owned + `}, spec: {template: {metadata: {labels: {app: web, pod-template-hash: b}}, spec: {containers: [{name: web, image: "web:2"}]}}}}`,
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "9"}` + owned + `}, spec: {template: {metadata: {labels: {app: web, pod-template-hash: a}}, spec: {containers: [{name: web, image: "web:1"}]}}}}`,
		}, []Revision{kept(9, "web:1", false), kept(10, "web:2", true)}},
		{"ControllerRevisions, without the mark of the patch", controllerRevisions, []string{
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 2, metadata: {name: b, annotations: {kubernetes.io/change-cause: a better one}` + owned + `}, data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2"}]}}}}}`,
			`{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, metadata: {name: a` + owned + `}, data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}}}}`,
		}, []Revision{kept(1, "web:1", false), kept(2, "web:2", true)}},
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
		got, err := revisionsOf(tt.kept, "m1", workload, objects)
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

// lists notes the lists that it is asked for.
type lists struct {
	index.Reader

	mu    sync.Mutex
	asked []string
}

func (l *lists) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, fmt.Sprint(q.Types[0].Kind, q.Clusters, q.Namespaces, q.Owners, q.Limit))
	return &index.Page{}, nil
}

// TestRevisionsOfAPage: one list of each type has those of all workloads.
func TestRevisionsOfAPage(t *testing.T) {
	l := &lists{}
	s := &Service{lister: &listing.Lister{Reader: l}}
	all := []*copies{}
	for i, kind := range []Kind{KindDeployment, KindDeployment, KindStatefulSet, KindDaemonSet} {
		c := &copies{of: &Workload{kind: kind}}
		for _, cluster := range []string{"m2", "m1"} {
			o := &index.Object{Cluster: cluster}
			o.Meta.Namespace, o.Meta.UID = "shop", types.UID(fmt.Sprint(cluster, "-", i))
			c.objects = append(c.objects, o)
		}
		all = append(all, c)
	}
	if _, err := s.keptOf(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	slices.Sort(l.asked)
	want := []string{"ControllerRevision[m1 m2] [shop] [m2-2 m1-2 m2-3 m1-3] 2000", "ReplicaSet[m1 m2] [shop] [m2-0 m1-0 m2-1 m1-1] 2000"}
	if !slices.Equal(l.asked, want) {
		t.Errorf("asked for %q, want %q", l.asked, want)
	}
	o := &operation{}
	one, two := &Workload{kind: KindDeployment}, &Workload{kind: KindDeployment}
	p := o.pageOf(s, one, []*Workload{one, two})
	if o.pageOf(s, two, []*Workload{one, two}) != p || len(p.workloads) != 2 {
		t.Error("the workloads of a page are not read together")
	}
	if alone := o.pageOf(s, &Workload{}, nil); alone == p || len(alone.workloads) != 1 {
		t.Error("a workload in no list is not alone")
	}
}
