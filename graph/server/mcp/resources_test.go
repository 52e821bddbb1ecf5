package mcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSegments(t *testing.T) {
	template := resources[1].uri
	for uri, want := range map[string]map[string]any{
		"kairship://workloads/alpha/shop/DEPLOYMENT/a":       {"instance": "alpha", "namespace": "shop", "kind": "DEPLOYMENT", "name": "a"},
		"kairship://workloads/al%2Fpha/shop/DEPLOYMENT/a%20": {"instance": "al/pha", "namespace": "shop", "kind": "DEPLOYMENT", "name": "a "},
		"kairship://workloads/alpha/shop/DEPLOYMENT":         nil,
		"kairship://workloads/alpha/shop/DEPLOYMENT/a/b":     nil,
		"kairship://workloads/alpha//DEPLOYMENT/a":           nil,
		"kairship://workloads/alpha/shop/DEPLOYMENT/%zz":     nil,
		"kairship://instances/alpha/shop/DEPLOYMENT/a":       nil,
		"https://workloads/alpha/shop/DEPLOYMENT/a":          nil,
	} {
		if got, ok := segments(template, uri); ok != (want != nil) || ok && !cmp.Equal(got, want) {
			t.Errorf("%s: got %v", uri, got)
		}
	}
}
