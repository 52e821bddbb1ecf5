package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImages(t *testing.T) {
	tests := []struct {
		reason, object string
		want           []string
	}{
		{
			reason: "containers before init containers, whatever the order in the object",
			object: `{"spec":{"template":{"spec":{"initContainers":[{"image":"init:1"}],"containers":[{"image":"b:1"},{"image":"a:1"}]}}}}`,
			want:   []string{"b:1", "a:1", "init:1"},
		},
		{
			reason: "an image that several containers use is listed once",
			object: `{"spec":{"template":{"spec":{"initContainers":[{"image":"a:1"}],"containers":[{"image":"a:1"},{"image":"a:1"}]}}}}`,
			want:   []string{"a:1"},
		},
		{
			reason: "a CronJob has its pods one level deeper",
			object: `{"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"image":"report:2"}]}}}}}}`,
			want:   []string{"report:2"},
		},
		{
			reason: "metadata alone has none, which is an empty list and not null",
			object: `{"metadata":{"name":"a"}}`,
			want:   []string{},
		},
	}
	for _, tt := range tests {
		object, err := parseObject([]byte(tt.object))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, object.Images()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestParseObject(t *testing.T) {
	object, err := parseObject([]byte(`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z",` +
		`"annotations":{"resourcetemplate.karmada.io/generation":"7"}},"status":{"active":[{"name":"a"},{"name":"b"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if kind, ok := object.WorkloadKind(); !ok || kind != KindCronJob {
		t.Errorf("it is a %s, %v", kind, ok)
	}
	if !object.Deleting() || object.Status.Active != 2 || object.templateGeneration() != 7 {
		t.Errorf("deleting %v, active %d, derived from generation %d", object.Deleting(), object.Status.Active, object.templateGeneration())
	}

	tests := []struct {
		reason, raw string
		active      int32
		err         string
	}{
		{reason: "a Job counts its pods", raw: `{"status":{"active":3}}`, active: 3},
		{reason: "null is nothing", raw: `{"status":{"active":null}}`},
		{reason: "text is neither count nor list", raw: `{"status":{"active":"3"}}`, err: "neither a count nor a list"},
		{reason: "a number that no replica count can be", raw: `{"status":{"active":99999999999}}`, err: "neither a count nor a list"},
		{reason: "no JSON at all", raw: `{`, err: "reading a workload object"},
		{reason: "another shape", raw: `{"spec":{"replicas":"many"}}`, err: "reading a workload object"},
	}
	for _, tt := range tests {
		object, err := parseObject([]byte(tt.raw))
		switch {
		case (err != nil) != (tt.err != ""), err != nil && !strings.Contains(err.Error(), tt.err):
			t.Errorf("%s: error is %v, want one with %q", tt.reason, err, tt.err)
		case err == nil && int32(object.Status.Active) != tt.active:
			t.Errorf("%s: %d active", tt.reason, object.Status.Active)
		}
	}
}
