package workload

import (
	"encoding/json"
	"errors"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// templateWith is a pod template with one container and an environment of one variable.
func templateWith(image, value string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "web", "image": image, "env": []any{map[string]any{"name": "MODE", "value": value}},
		}}},
	}
}

func TestDerive(t *testing.T) {
	image := func(component policyv1alpha1.ImageComponent, operator policyv1alpha1.OverriderOperator, value string) []policyv1alpha1.Overriders {
		return []policyv1alpha1.Overriders{{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: component, Operator: operator, Value: value}}}}
	}
	plain := func(path, value string) []policyv1alpha1.Overriders {
		return []policyv1alpha1.Overriders{{Plaintext: []policyv1alpha1.PlaintextOverrider{{Path: path, Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)}}}}}
	}
	for _, tt := range []struct {
		reason                string
		now, current, earlier map[string]any
		overrides             []policyv1alpha1.Overriders
		image, value          string
		err                   error
	}{
		{
			"the registry of the template stays where an override gives another",
			templateWith("docker.io/web:2", "b"), templateWith("eu.example.com/web:2", "b"), templateWith("eu.example.com/web:1", "a"),
			image(policyv1alpha1.Registry, policyv1alpha1.OverriderOpReplace, "eu.example.com"), "docker.io/web:1", "a", nil,
		},
		{
			"an ending that an override adds to the repository is not added twice",
			templateWith("docker.io/web:2", "b"), templateWith("docker.io/web-eu:2", "b"), templateWith("docker.io/web-eu:1", "b"),
			image(policyv1alpha1.Repository, policyv1alpha1.OverriderOpAdd, "-eu"), "docker.io/web:1", "b", nil,
		},
		{
			"another repository under the same registry",
			templateWith("docker.io/web2:2", "b"), templateWith("eu.example.com/web2:2", "b"), templateWith("eu.example.com/web1:1", "b"),
			image(policyv1alpha1.Registry, policyv1alpha1.OverriderOpReplace, "eu.example.com"), "docker.io/web1:1", "b", nil,
		},
		{
			"what an override replaces altogether stays, and the rest goes back",
			templateWith("docker.io/web:2", "b"), templateWith("docker.io/web:9", "b"), templateWith("docker.io/web:9", "a"),
			image(policyv1alpha1.Tag, policyv1alpha1.OverriderOpReplace, "9"), "docker.io/web:2", "a", nil,
		},
		{
			"a value that an override sets is in both revisions",
			templateWith("docker.io/web:2", "b"), templateWith("docker.io/web:2", "eu"), templateWith("docker.io/web:1", "eu"),
			plain("/spec/template/spec/containers/0/env/0/value", "eu"), "docker.io/web:1", "b", nil,
		},
		{
			"the override was another one then",
			templateWith("docker.io/web:2", "b"), templateWith("docker.io/web:9", "b"), templateWith("docker.io/web:1", "b"),
			image(policyv1alpha1.Tag, policyv1alpha1.OverriderOpReplace, "9"), "", "", ErrNotDerivable,
		},
	} {
		manifest, err := json.Marshal(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": map[string]any{"template": tt.now}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Derive(KindDeployment, manifest, tt.overrides, tt.current, tt.earlier)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.reason, err, tt.err)
			continue
		}
		if err != nil {
			continue
		}
		if c := got.Spec.Containers[0]; len(got.Spec.Containers) != 1 || c.Image != tt.image || c.Env[0].Value != tt.value || got.Labels["app"] != "web" {
			t.Errorf("%s: got %+v", tt.reason, got)
		}
	}
}
