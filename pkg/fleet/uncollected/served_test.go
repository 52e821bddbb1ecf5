package uncollected

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

func api(name, kind string, namespaced bool, verbs string, short ...string) metav1.APIResource {
	return metav1.APIResource{
		Name: name, SingularName: strings.ToLower(kind), Kind: kind, Namespaced: namespaced, Verbs: strings.Fields(verbs), ShortNames: short,
	}
}

// kinds are what the instance of the tests serves. The server of metrics.k8s.io is down.
func kinds() *instanceproxy.Discovery {
	const all = "get list watch create update patch delete"
	group := func(name string, versions ...string) *metav1.APIGroup {
		g := &metav1.APIGroup{Name: name}
		for _, v := range versions {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: schema.GroupVersion{Group: name, Version: v}.String(), Version: v})
		}
		return g
	}
	return &instanceproxy.Discovery{
		Groups: []*metav1.APIGroup{group("", "v1"), group("apps", "v1"), group("autoscaling", "v2", "v1"), group("example.com", "v1"), group("metrics.k8s.io", "v1beta1")},
		Resources: []*metav1.APIResourceList{
			{GroupVersion: "v1", APIResources: []metav1.APIResource{
				api("configmaps", "ConfigMap", true, all, "cm"), api("secrets", "Secret", true, all), api("pods", "Pod", true, all, "po"),
				api("pods/status", "Pod", true, "get"), api("bindings", "Binding", true, "create"), api("nodes", "Node", false, all, "no"),
			}},
			{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{api("deployments", "Deployment", true, all, "deploy"), api("daemonsets", "DaemonSet", true, all)}},
			{GroupVersion: "autoscaling/v2", APIResources: []metav1.APIResource{api("horizontalpodautoscalers", "HorizontalPodAutoscaler", true, all, "hpa")}},
			{GroupVersion: "autoscaling/v1", APIResources: []metav1.APIResource{api("horizontalpodautoscalers", "HorizontalPodAutoscaler", true, all, "hpa")}},
			{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{api("secrets", "Secret", true, all), api("clustersecrets", "ClusterSecret", false, all)}},
		},
	}
}

func TestServed(t *testing.T) {
	for _, tt := range []struct {
		group, version, resource string
		argument, near           string
		code                     apierror.Code
		why                      string
	}{
		{"", "v1", "secrets", "", "", "", "it is served"},
		{"example.com", "v1", "clustersecrets", "", "", "", "it is served, by a CustomResourceDefinition"},
		{"autoscaling", "v1", "horizontalpodautoscalers", "", "", "", "it is served in two versions"},
		{"nope.io", "v1", "secrets", "group", `"secrets" of v1, or "secrets" of example.com/v1`, apierror.CodeInvalid, "the group is made up; other groups have it"},
		{"nope.io", "v1", "gadgets", "group", "", apierror.CodeInvalid, "nothing is like it"},
		{"apps", "v1beta1", "deployments", "version", `"deployments" of apps/v1`, apierror.CodeInvalid, "the version is gone"},
		{"", "v1", "deployments", "resource", `"deployments" of apps/v1`, apierror.CodeInvalid, "it is in another group"},
		{"apps", "v1", "deployment", "resource", `"deployments" of apps/v1`, apierror.CodeInvalid, "that is the singular"},
		{"", "v1", "cm", "resource", `"configmaps" of v1`, apierror.CodeInvalid, "that is the short name"},
		{"", "v1", "configmapps", "resource", `"configmaps" of v1`, apierror.CodeInvalid, "one letter is too much"},
		{"apps", "v1", "secrets", "resource", `"secrets" of v1, or "secrets" of example.com/v1`, apierror.CodeInvalid, "two groups have it"},
		{"example.com", "v1", "secret", "resource", `"secrets" of example.com/v1, or "secrets" of v1`, apierror.CodeInvalid, "the group that was named comes first"},
		{"autoscaling", "v2", "hpa", "resource", `"horizontalpodautoscalers" of autoscaling/v2`, apierror.CodeInvalid, "of two versions the preferred one"},
		{"", "v1", "bindings", "resource", "", apierror.CodeInvalid, "it can be created, and not be listed"},
		{"metrics.k8s.io", "v1beta1", "pods", "", "", apierror.CodeInstanceUnavailable, "its server does not answer, so it is unknown"},
	} {
		of := schema.GroupVersionResource{Group: tt.group, Version: tt.version, Resource: tt.resource}
		kind, err := served("alpha", kinds(), of)
		if tt.code == "" {
			if err != nil || kind.GroupVersionResource != of || kind.Namespaced == (tt.resource == "clustersecrets") {
				t.Errorf("%v: got %+v, %v: %s", of, kind, err, tt.why)
			}
			continue
		}
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Argument != tt.argument {
			t.Errorf("%v: got %v, want %s at %q: %s", of, err, tt.code, tt.argument, tt.why)
			continue
		}
		_, names, _ := strings.Cut(e.Message, "; did you mean ")
		if strings.TrimSuffix(names, "?") != tt.near {
			t.Errorf("%v: it suggests %q, want %q: %s", of, names, tt.near, tt.why)
		}
		notServed := tt.code == apierror.CodeInvalid && tt.resource != "bindings"
		if errors.Is(err, ErrNotServed) != notServed || errors.Is(err, ErrUnanswered) != (tt.code == apierror.CodeInvalid) {
			t.Errorf("%v: %v is marked wrongly: %s", of, err, tt.why)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"pods", "pods", 0}, {"pods", "pod", 1}, {"pods", "pots", 1}, {"kitten", "sitting", 3}} {
		if got := edits(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
