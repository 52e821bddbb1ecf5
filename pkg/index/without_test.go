package index

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithout(t *testing.T) {
	const body = `{"apiVersion":"v1","kind":"Work","metadata":{"name":"x","annotations":{"a":"1","shadow.clusterpedia.io/cluster-name":"k-a"}},` +
		`"spec":{"workload":{"manifests":[{"kind":"Secret"}]},"suspend":false},"status":null}`
	for _, tt := range []struct {
		name string
		path []string
		want string
		meta map[string]string
		fail bool
		why  string
	}{
		{
			name: "a field", path: []string{"spec", "workload"}, meta: map[string]string{"a": "1"},
			want: `{"apiVersion":"v1","kind":"Work","metadata":{"name":"x","annotations":{"a":"1"}},"spec":{"suspend":false},"status":null}`, why: "its neighbours stay",
		},
		{
			name: "an annotation", path: []string{"metadata", "annotations", "a"}, meta: map[string]string{},
			want: `{"apiVersion":"v1","kind":"Work","metadata":{"name":"x"},"spec":{"workload":{"manifests":[{"kind":"Secret"}]},"suspend":false},"status":null}`,
			why:  "it goes from the metadata too, which is kept apart",
		},
		{
			name: "a field that is not there", path: []string{"status", "manifestStatuses"}, meta: map[string]string{"a": "1"},
			want: `{"apiVersion":"v1","kind":"Work","metadata":{"name":"x","annotations":{"a":"1"}},"spec":{"workload":{"manifests":[{"kind":"Secret"}]},"suspend":false},"status":null}`,
			why:  "nothing changes",
		},
		{name: "a field of something else", path: []string{"kind", "workload"}, fail: true, why: "what can't be taken away must not stay unnoticed"},
		{name: "other metadata", path: []string{"metadata", "name"}, fail: true, why: "the metadata is kept apart, and would still have it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, _, err := decodeAnswer([]byte(`{"items":[`+body+`]}`), Whole, Type{})
			if err != nil {
				t.Fatal(err)
			}
			before := objects[0]
			got, err := before.Without(tt.path...)
			if (err != nil) != tt.fail {
				t.Fatalf("got %v: %s", err, tt.why)
			}
			if manifest, err := before.Manifest(); err != nil || len(before.Meta.Annotations) != 1 || manifest["spec"].(map[string]any)["workload"] == nil {
				t.Errorf("the object itself changed: %v, %v", manifest, err)
			}
			if tt.fail {
				return
			}
			manifest, err := got.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, manifest); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if d := cmp.Diff(tt.meta, got.Meta.Annotations); d != "" {
				t.Errorf("annotations (-want +got):\n%s", d)
			}
		})
	}
}

func TestMasked(t *testing.T) {
	const collected = `{"metadata":{"name":"x","annotations":{"shadow.clusterpedia.io/cluster-name":"k-a"}},`
	for _, tt := range []struct {
		name, body, want string
		why              string
	}{
		{
			name: "values", body: `{"kind":"Secret","data":{"user":"YQ==","password":"Yg=="},"type":"Opaque"}`,
			want: `{"kind":"Secret","data":{"user":"***","password":"***"},"type":"Opaque"}`, why: "the keys stay",
		},
		{name: "none", body: `{"kind":"Secret","type":"Opaque"}`, want: `{"kind":"Secret","type":"Opaque"}`, why: "nothing changes"},
		{name: "empty", body: `{"kind":"Secret","data":{}}`, want: `{"kind":"Secret","data":{}}`, why: "nothing changes"},
		{name: "null", body: `{"kind":"Secret","data":null}`, want: `{"kind":"Secret"}`, why: "there are no keys"},
		{name: "no map", body: `{"kind":"Secret","data":["YQ=="]}`, want: `{"kind":"Secret"}`, why: "what cannot be masked must not be shown"},
		{name: "deeper", body: `{"kind":"Secret","data":{"a":{"b":"YQ=="}}}`, want: `{"kind":"Secret","data":{"a":"***"}}`, why: "a value is masked whatever it is"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, _, err := decodeAnswer([]byte(`{"items":[`+collected+tt.body[1:]+`]}`), Whole, Type{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := objects[0].Masked("data", "***")
			if err != nil {
				t.Fatal(err)
			}
			for o, text := range map[*Object]string{got: tt.want, objects[0]: tt.body} {
				if o == objects[0] && got == objects[0] {
					continue
				}
				manifest, err := o.Manifest()
				if err != nil {
					t.Fatal(err)
				}
				var want map[string]any
				if err := json.Unmarshal([]byte(text), &want); err != nil {
					t.Fatal(err)
				}
				delete(manifest, "metadata")
				if d := cmp.Diff(want, manifest); d != "" {
					t.Errorf("%s (-want +got):\n%s", tt.why, d)
				}
			}
		})
	}
	objects, _, err := decodeAnswer([]byte(`{"items":[`+collected+`"kind":"Secret"}]}`), Whole, Type{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects[0].Masked("metadata", "***"); err == nil {
		t.Error("the metadata was masked; it is kept apart, and would still have the values")
	}
}
