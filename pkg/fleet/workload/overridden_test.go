package workload

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestOverriddenImages(t *testing.T) {
	const template = `"template":{"spec":{"initContainers":[{"name":"setup","image":"example.com/setup:2"}],"containers":[{"name":"web","image":"example.com/shop/web:2"},{"name":"log","image":"example.com/log:2"}]}}`
	const deployment = `{"spec":{` + template + `}}`
	const cronJob = `{"spec":{"jobTemplate":{"spec":{` + template + `}}}}`
	const tag = `{"imageOverrider":[{"component":"Tag","operator":"replace","value":"1"}]}`
	const path = "/spec/template/spec/containers/0/image"
	at := func(path, component, operator, value string) string {
		return `{"imageOverrider":[{"predicate":{"path":"` + path + `"},"component":"` + component + `","operator":"` + operator + `","value":"` + value + `"}]}`
	}
	web, log := []string{"web"}, []string{"log"}
	for _, tt := range []struct {
		reason     string
		kind       Kind
		manifest   string
		overrides  []string
		containers []string
		want       []overriddenImage
	}{
		{"no overrides", KindDeployment, deployment, nil, web, nil},
		{"overrides of something else", KindDeployment, deployment, []string{`{"labelsOverrider":[{"operator":"add","value":{"a":"1"}}]}`}, web, nil},
		{"a tag holds all containers", KindDeployment, deployment, []string{tag}, []string{"log", "web"}, []overriddenImage{{"log", "example.com/log:1", 0}, {"web", "example.com/shop/web:1", 0}}},
		{"only the containers that were set are named", KindDeployment, deployment, []string{tag}, web, []overriddenImage{{"web", "example.com/shop/web:1", 0}}},
		{"a predicate holds one container", KindDeployment, deployment, []string{at(path, "Tag", "replace", "1")}, log, nil},
		{"a digest", KindDeployment, deployment, []string{at(path, "Tag", "replace", "sha256:50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c")}, web, []overriddenImage{{"web", "example.com/shop/web@sha256:50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c", 0}}},
		{"a registry", KindDeployment, deployment, []string{at(path, "Registry", "replace", "mirror.example.com:5000")}, web, []overriddenImage{{"web", "mirror.example.com:5000/shop/web:2", 0}}},
		{"no registry", KindDeployment, deployment, []string{at(path, "Registry", "remove", "")}, web, []overriddenImage{{"web", "shop/web:2", 0}}},
		{"a longer repository", KindDeployment, deployment, []string{at(path, "Repository", "add", "-slim")}, web, []overriddenImage{{"web", "example.com/shop/web-slim:2", 0}}},
		{"a JSON patch", KindStatefulSet, deployment, []string{`{"plaintext":[{"path":"` + path + `","operator":"replace","value":"own:1"}]}`}, web, []overriddenImage{{"web", "own:1", 0}}},
		{"an init container, which only a path reaches", KindDaemonSet, deployment, []string{tag, at("/spec/template/spec/initContainers/0/image", "Tag", "replace", "3")}, []string{"setup"}, []overriddenImage{{"setup", "example.com/setup:3", 1}}},
		{"the last one decides", KindDeployment, deployment, []string{tag, `{}`, at(path, "Tag", "add", "-eu")}, web, []overriddenImage{{"web", "example.com/shop/web:1-eu", 2}}},
		{"one takes back what another did", KindDeployment, deployment, []string{tag, at(path, "Tag", "replace", "2")}, web, nil},
		{"the override sets what was set", KindDeployment, deployment, []string{at(path, "Tag", "replace", "2")}, web, nil},
		{"without a path Karmada changes no CronJob", KindCronJob, cronJob, []string{tag}, web, nil},
		{"with a path it does", KindCronJob, cronJob, []string{at("/spec/jobTemplate/spec/template/spec/containers/0/image", "Tag", "replace", "1")}, web, []overriddenImage{{"web", "example.com/shop/web:1", 0}}},
		{"one that cannot be applied", KindDeployment, deployment, []string{tag, at("/spec/template/spec/containers/9/image", "Tag", "replace", "1")}, web, nil},
		{"a path to something else", KindDeployment, deployment, []string{at("/spec/template", "Tag", "replace", "1")}, web, nil},
		{"a component that no image has", KindDeployment, deployment, []string{at(path, "Colour", "replace", "1")}, web, nil},
	} {
		overrides := make([]policyv1alpha1.Overriders, len(tt.overrides))
		for i, text := range tt.overrides {
			if err := json.Unmarshal([]byte(text), &overrides[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := overriddenImages(tt.kind, []byte(tt.manifest), overrides, tt.containers)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(overriddenImage{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
