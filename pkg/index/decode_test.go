package index_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/index"
)

// served is an index that answers every list with these items.
func served(t *testing.T, items string) ([]*index.Object, error) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, items := r.URL.Query(), items
		switch { // It accepts SQL: the probes are answered so.
		case strings.Contains(q.Get("whereSQLJSONParams"), " "):
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		case strings.Contains(q.Get("whereSQLStatement"), "sqlite_version"):
			items = "[]"
		}
		_, _ = w.Write([]byte(`{"kind":"CollectionResource","resourceTypes":[],"items":` + items + `,"remainingItemCount":7}`))
	}))
	t.Cleanup(srv.Close)
	c, err := index.New(index.Config{REST: &rest.Config{Host: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.List(t.Context(), index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{"k-alpha"}, Limit: 50})
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

const from = `"annotations":{"shadow.clusterpedia.io/cluster-name":"k-alpha"}`

func TestItems(t *testing.T) {
	for _, tt := range []struct {
		name, items string
		want        []string
		wantErr     string
		why         string
	}{
		{
			name: "kind last", items: `[{"spec":{"metadata":{"name":"x"}},"metadata":{"name":"a","namespace":"n",` + from + `},"status":null,"kind":"Deployment","apiVersion":"apps/v1"}]`,
			want: []string{"k-alpha Deployment n/a"}, why: "the members of an object come in any order",
		},
		{
			name: "several", items: `[ {"kind":"A","metadata":{"name":"a",` + from + `}} , {"kind":"B","metadata":{"name":"b",` + from + `}} ]`,
			want: []string{"k-alpha A /a", "k-alpha B /b"}, why: "spaces between them are not part of them",
		},
		{name: "none", items: `[]`, why: "an empty list is an answer"},
		{name: "null", items: `null`, why: "Go writes an empty list so"},
		{
			name: "no cluster", items: `[{"kind":"A","metadata":{"name":"a"}}]`,
			wantErr: "no shadow.clusterpedia.io/cluster-name annotation", why: "an object of unknown origin could be another instance's",
		},
		{name: "no metadata", items: `[{"kind":"A"}]`, wantErr: "cluster-name", why: "that is an object of unknown origin too"},
		{name: "not objects", items: `["a"]`, wantErr: "not an object", why: "an answer that can't be read is an error, not an empty page"},
		{name: "not a list", items: `{}`, wantErr: "not a list", why: "an answer that can't be read is an error, not an empty page"},
		{name: "cut off", items: `[{"kind":"A"`, wantErr: "can't be read", why: "half an answer must not pass for a whole one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := served(t, tt.items)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(text(err), tt.wantErr) {
					t.Fatalf("got error %v, want one that says %q: %s", text(err), tt.wantErr, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.Cluster+" "+o.Kind+" "+o.Meta.Namespace+"/"+o.Meta.Name)
				if len(o.Meta.Annotations) > 0 {
					t.Errorf("the index's own annotations show: %v", o.Meta.Annotations)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
		})
	}
}

// text is an error with its causes.
func text(err error) string {
	var all []string
	for err != nil {
		all = append(all, err.Error())
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = u.Unwrap()
	}
	return strings.Join(all, ": ")
}

// TestDecode compares with the decoder of the standard library, on objects that
// were captured from a fleet.
func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		check   func(*testing.T, *index.Object, []byte)
	}{
		{"*/template.json", same[ofAnyKind]},
		{"*/object-*.json", same[ofAnyKind]},
		{"frontend/template.json", same[appsv1.Deployment]},
		{"migrate/template.json", same[batchv1.Job]},
		{"report/template.json", same[batchv1.CronJob]},
		{"*/binding.json", same[workv1alpha2.ResourceBinding]},
		{"*/work-*.json", same[workv1alpha1.Work]},
		{"*/cluster-*.json", same[clusterv1alpha1.Cluster]},
	} {
		files, err := filepath.Glob(filepath.Join("..", "fleet", "workload", "testdata", tt.pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no captured objects for %s: %v", tt.pattern, err)
		}
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				objects, err := served(t, "["+annotated(t, raw)+"]")
				if err != nil {
					t.Fatal(err)
				}
				tt.check(t, objects[0], raw)
			})
		}
	}
}

// ofAnyKind embeds its metadata, as Kubernetes' own types do.
type ofAnyKind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Replicas *int32                  `json:"replicas,omitempty"`
		Template *corev1.PodTemplateSpec `json:"template,omitempty"`
	} `json:"spec"`
	Status map[string]any `json:"status,omitempty"`
}

func same[T any](t *testing.T, o *index.Object, raw []byte) {
	t.Helper()
	want := new(T)
	if err := json.Unmarshal(raw, want); err != nil {
		t.Fatal(err)
	}
	got, err := index.Decode[T](o)
	if err != nil {
		t.Fatal(err)
	}
	// As JSON, because an empty and a missing map are the same thing in it.
	if d := cmp.Diff(generic(t, want), generic(t, got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if again, err := index.Decode[T](o); err != nil || again != got {
		t.Errorf("the object was decoded twice (%v)", err)
	}
}

// annotated adds what the index adds.
func annotated(t *testing.T, raw []byte) string {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	meta := o["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations["shadow.clusterpedia.io/cluster-name"] = "k-alpha"
	annotations["shadow.clusterpedia.io/gvr"] = "apps/v1/deployments"
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func generic(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
