package projection_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestByRelevance: what fits a text best comes first, and a UID finds its object.
func TestByRelevance(t *testing.T) {
	names := []string{"a-web", "web", "web-1", "other", "zone", "awebb"}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		workloads, pods := alike("alpha", "shop", 0, len(names)), podRows()[:len(names)]
		for i, name := range names {
			w, p := &workloads[i], &pods[i]
			w.Name, p.Name, w.UID, p.UID, w.LabelKV, p.LabelKV = name, name, "uid-"+name, "uid-"+name, []string{}, []string{}
			p.Cluster, p.Instance, p.Namespace = "m1", "alpha", "shop"
			if name == "zone" {
				w.LabelKV, p.LabelKV = []string{"app=the-WEB"}, []string{"app=the-WEB"}
			}
			w.Search, p.Search = name+" web", name+" web"
		}
		db := filledPods(t, index, pods)
		err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
			return &projection.Writes{Workloads: workloads}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		find := func(text, uid string, words []string, scoped, confined bool, limit int) (ofWorkloads, ofPods []string) {
			w := projection.Query{Instances: []string{"alpha"}, Words: words, UID: uid, Relevant: text, Confined: confined, Order: projection.Order{Field: projection.ByRelevance}, Limit: limit}
			p := projection.PodQuery{Instances: []string{"alpha"}, Words: words, UID: uid, Relevant: text, Confined: confined, Order: projection.PodOrder{Field: projection.PodsByRelevance}, Limit: limit}
			if scoped {
				in := []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}}
				w.Instances, w.Scopes, p.Instances, p.Scopes = nil, in, nil, in
			}
			foundWorkloads, err := db.Select(t.Context(), &w)
			if err != nil {
				t.Fatal(err)
			}
			foundPods, err := db.SelectPods(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			for i := range foundWorkloads.Items {
				ofWorkloads = append(ofWorkloads, foundWorkloads.Items[i].Name)
			}
			for i := range foundPods.Items {
				ofPods = append(ofPods, foundPods.Items[i].Name)
			}
			return slices.DeleteFunc(ofWorkloads, func(name string) bool { return strings.HasPrefix(name, "web-0") }), ofPods
		}
		for _, scoped := range []bool{false, true} {
			for _, confined := range []bool{false, true} {
				want := []string{"web", "web-1", "a-web", "awebb", "zone", "other"}
				w, p := find("web", "", []string{"web"}, scoped, confined, 50)
				if diff := gocmp.Diff(want, w) + gocmp.Diff(want, p); diff != "" {
					t.Errorf("scoped %t, confined %t (-want +got):\n%s", scoped, confined, diff)
				}
				w, p = find("web", "", []string{"web"}, scoped, confined, 2)
				if diff := gocmp.Diff(want[:2], w) + gocmp.Diff(want[:2], p); diff != "" {
					t.Errorf("the best two, scoped %t, confined %t (-want +got):\n%s", scoped, confined, diff)
				}
				w, p = find("uid-zone", "uid-zone", nil, scoped, confined, 2)
				if diff := gocmp.Diff([]string{"zone"}, w) + gocmp.Diff([]string{"zone"}, p); diff != "" {
					t.Errorf("a UID, scoped %t, confined %t (-want +got):\n%s", scoped, confined, diff)
				}
			}
		}
	})
}
