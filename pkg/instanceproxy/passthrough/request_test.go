package passthrough

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAPathIsAbout(t *testing.T) {
	for _, tt := range []struct {
		path string
		want request
		why  string
	}{
		{"/", request{}, "the root"},
		{"/api", request{}, "discovery"},
		{"/api/v1", request{}, "discovery"},
		{"/apis/apps/v1", request{}, "discovery"},
		{"/version", request{}, "no resource"},
		{"/openapi/v3/apis/apps/v1", request{}, "no resource"},
		{"/api/v1/nodes", request{version: "v1", resource: "nodes"}, "all of a kind without namespaces"},
		{"/api/v1/nodes/n1/proxy/logs/x", request{version: "v1", resource: "nodes", name: "n1", subresource: "proxy"}, "what is below a subresource belongs to it"},
		{"/api/v1/namespaces", request{version: "v1", resource: "namespaces"}, "all Namespaces"},
		{"/api/v1/namespaces/shop", request{version: "v1", resource: "namespaces", name: "shop"}, "a Namespace is an object too"},
		{"/api/v1/namespaces/shop/finalize", request{version: "v1", resource: "namespaces", name: "shop", subresource: "finalize"}, "and has two subresources"},
		{"/api/v1/namespaces/shop/pods", request{version: "v1", namespace: "shop", resource: "pods"}, "what is in it"},
		{"/api/v1/namespaces/shop/pods/", request{version: "v1", namespace: "shop", resource: "pods"}, "a slash more"},
		{"/api/v1/namespaces/shop/pods/p/exec", request{version: "v1", namespace: "shop", resource: "pods", name: "p", subresource: "exec"}, "a subresource"},
		{"/apis/apps/v1/namespaces/shop/deployments/web/scale", request{group: "apps", version: "v1", namespace: "shop", resource: "deployments", name: "web", subresource: "scale"}, "of a group"},
		{"/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/pods", request{group: "cluster.karmada.io", version: "v1alpha1", resource: "clusters", name: "m1", subresource: "proxy"}, "Karmada's proxy to a member"},
	} {
		tt.want.verb = "get"
		if diff := cmp.Diff(tt.want, what(http.MethodGet, tt.path), cmp.AllowUnexported(request{})); diff != "" {
			t.Errorf("%s: %s: %s", tt.path, tt.why, diff)
		}
	}
}

func TestWhatLasts(t *testing.T) {
	const pods, logs = "/api/v1/namespaces/shop/pods", "/api/v1/namespaces/shop/pods/p/log"
	for _, tt := range []struct {
		address string
		want    bool
		why     string
	}{
		{pods, false, "a list"},
		{pods + "?watch=true", true, "a watch"},
		{pods + "?watch=1", true, "the same, short"},
		{pods + "?watch=True", true, "as Python's client says it"},
		{pods + "?watch=yes", true, "Kubernetes takes anything"},
		{pods + "?watch=", true, "even nothing"},
		{pods + "?limit=5&watch", true, "or less than that"},
		{pods + "?watch=false", false, "but for this"},
		{pods + "?watch=False", false, "however it is written"},
		{pods + "?watch=0", false, "and this"},
		{pods + "?watch=0&watch=1", false, "the first counts"},
		{pods + "?watch=1&watch=0", true, "the first counts"},
		{pods + "?follow=false&Watch=1", false, "another parameter"},
		{logs, false, "what was logged so far"},
		{logs + "?follow=True", true, "and what will be"},
		{pods + "/p/proxy", true, "anything may be behind a proxy"},
	} {
		r := httptest.NewRequest(http.MethodGet, PathOf("alpha")+tt.address, http.NoBody)
		if got := Lasts(r); got != tt.want {
			t.Errorf("%s: got %t, want %t: %s", tt.address, got, tt.want, tt.why)
		}
	}
}

// FuzzTarget looks that whatever is let through is sent on as it was meant.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"/", "/api/v1/pods", "//a//b%2Fc/", "/a/../b", "/%2e%2e/", "/%zz", "/a%00b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		target, err := parseTarget(escaped, "")
		if err != nil || escaped == "" || escaped[0] != '/' {
			return
		}
		meant, err := url.PathUnescape(escaped)
		if err != nil {
			t.Fatalf("%q was let through", escaped)
		}
		if sent, err := url.PathUnescape(target.EscapedPath()); err != nil || sent != meant || strings.Contains(sent+"/", "/../") {
			t.Errorf("%q is sent as %q", escaped, sent)
		}
		what(http.MethodGet, target.Path)
	})
}
