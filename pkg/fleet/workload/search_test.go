package workload_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImageKeys(t *testing.T) {
	for image, want := range map[string][]string{
		"":                          {},
		"nginx":                     {"nginx"},
		"nginx:1.27":                {"nginx", "nginx:1.27"},
		"nginx:1.27@" + digest:      {"nginx", "nginx:1.27", "nginx:1.27@" + digest},
		"host:5000/shop/web":        {"host:5000/shop/web"},
		"host:5000/shop/web:2":      {"host:5000/shop/web", "host:5000/shop/web:2"},
		"host/shop/web@" + digest:   {"host/shop/web", "host/shop/web@" + digest},
		"host:5000/web:2@" + digest: {"host:5000/web", "host:5000/web:2", "host:5000/web:2@" + digest},
	} {
		if diff := cmp.Diff(want, workload.ImageKeys([]string{image, image})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", image, diff)
		}
	}
}

// TestFound: a subscription's filter finds what a list's does.
func TestFound(t *testing.T) {
	row := fleettest.Row(index.Deployments, "k-alpha", "shop", "Web-Front")
	row.Labels = map[string]string{"Tier": "edge", "propagationpolicy.karmada.io/permanent-id": "881d1e4f"}
	row.Body = map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers":     []any{map[string]any{"image": "registry.example/shop/web:1.2"}},
		"initContainers": []any{map[string]any{"image": "busybox"}},
	}}}}
	seen := &workload.Observed{Template: fleettest.Object(t, row, index.Whole), Status: &workload.Status{}}
	for _, tt := range []struct {
		reason string
		filter workload.Filter
		want   bool
	}{
		{"a whole image", workload.Filter{Images: []string{"none", "registry.example/shop/web:1.2"}}, true},
		{"any tag", workload.Filter{Images: []string{"registry.example/shop/web"}}, true},
		{"an image of an init container", workload.Filter{Images: []string{"busybox"}}, true},
		{"a part of an image", workload.Filter{Images: []string{"web"}}, false},
		{"no images", workload.Filter{Images: []string{}}, false},
		{"a word of the name", workload.Filter{Text: new("FRONT")}, true},
		{"an ID that Karmada made", workload.Filter{Text: new("881d1e4f")}, false},
		{"words of several places", workload.Filter{Text: new(" shop  tier=edge web:1.2\tweb-front")}, true},
		{"one word that is nowhere", workload.Filter{Text: new("shop nowhere")}, false},
		{"a word over two lines", workload.Filter{Text: new("web-front\nshop")}, true},
		{"both", workload.Filter{Images: []string{"busybox"}, Text: new("nowhere")}, false},
	} {
		match, err := tt.filter.Matcher()
		if err != nil || match(seen) != tt.want {
			t.Errorf("%s: got %t, %v", tt.reason, !tt.want, err)
		}
		template, err := index.Decode[workload.Object](seen.Template)
		if err != nil {
			t.Fatal(err)
		}
		if keys := workload.ImageKeys(template.Images()); !slices.Contains(keys, "registry.example/shop/web") {
			t.Errorf("the images are found by %q", keys)
		}
	}
	for _, text := range []string{"", " \t", "a b c d e f g h i j k", string(make([]byte, 300))} {
		filter := workload.Filter{Text: &text}
		if _, err := filter.Matcher(); err == nil {
			t.Errorf("%q is searched for", text)
		}
	}
}
