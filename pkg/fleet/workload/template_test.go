package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTemplateOf(t *testing.T) {
	const pod = `"template":{"spec":{"initContainers":[{"name":"setup","image":"setup:1"}],"containers":[{"name":"web","image":"web:1"},{"name":"log","image":"log:1"}]}}`
	containers := []Container{{"web", "web:1"}, {"log", "log:1"}}
	setup := []Container{{"setup", "setup:1"}}
	for _, tt := range []struct {
		reason string
		kind   Kind
		spec   string
		want   Template
	}{
		{"a Deployment has replicas", KindDeployment, `{"replicas":6,` + pod + `}`, Template{Replicas: new(6), Containers: containers, InitContainers: setup}},
		{"zero is a number", KindStatefulSet, `{"replicas":0,` + pod + `}`, Template{Replicas: new(0), Containers: containers, InitContainers: setup}},
		{"a DaemonSet has neither", KindDaemonSet, `{` + pod + `}`, Template{Containers: containers, InitContainers: setup}},
		{"a Job has a parallelism", KindJob, `{"parallelism":3,"completions":9,` + pod + `}`, Template{Parallelism: new(3), Containers: containers, InitContainers: setup}},
		{"a CronJob's is that of its Jobs", KindCronJob, `{"jobTemplate":{"spec":{"parallelism":2,` + pod + `}}}`, Template{Parallelism: new(2), Containers: containers, InitContainers: setup}},
		{"nothing of another kind is shown", KindJob, `{"replicas":6}`, Template{}},
	} {
		o, err := parseObject([]byte(`{"spec":` + tt.spec + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&tt.want, templateOf(tt.kind, o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
