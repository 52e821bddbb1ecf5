package projection_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestSelectPodParts checks that each part has the page that SelectPods reads of it alone.
func TestSelectPodParts(t *testing.T) {
	yes := true
	ask := map[string][]projection.Part{
		"instances": {{Instance: "beta"}, {Instance: "nowhere"}, {Instance: "alpha"}},
		"scopes": {
			{Instance: "alpha", Namespaces: []string{"shop", "other"}}, {Instance: "beta"}, {Instance: "beta", Namespaces: []string{"shop"}},
			{Instance: "alpha", Namespaces: []string{}}, {Instance: "beta", Namespaces: []string{"shop", "shop", "other"}},
		},
		"members": {
			{Instance: "alpha", Cluster: "m1"}, {Instance: "alpha", Cluster: "m2", Namespaces: []string{"shop"}}, {Instance: "beta", Cluster: "m3"}, {Instance: "beta", Cluster: "nowhere"},
		},
		"nothing": {},
	}
	narrowed := map[string]projection.PodQuery{
		"everything": {}, "some": {Ready: &yes, Words: []string{"word"}, Selector: selector(t, "app in (app0,app2)")}, "none": {Names: []string{"none"}},
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filledPods(t, index, podRows())
		for asked, parts := range ask {
			for what, q := range narrowed {
				for _, confined := range []bool{false, true} {
					for _, order := range podOrders {
						q.Order, q.Limit, q.WithCount, q.Confined, q.After = order, 2, true, confined, nil
						checkPodParts(t, db, asked+", "+what, q, parts)
					}
				}
			}
		}
	})
}

// checkPodParts checks the first page of parts, and the one that follows the first part's.
func checkPodParts(t *testing.T, db *projection.DB, what string, q projection.PodQuery, parts []projection.Part) {
	t.Helper()
	for range 2 {
		found, at, err := db.SelectPodParts(t.Context(), &q, parts)
		if err != nil || at.Now == 0 || len(found) != len(parts) {
			t.Fatalf("%s: %d parts, at %+v, %v", what, len(found), at, err)
		}
		for i, part := range parts {
			alone := q
			if part.Namespaces == nil {
				alone.Instances = []string{part.Instance}
			} else {
				alone.Scopes = []projection.Scope{{Instance: part.Instance, Namespaces: part.Namespaces}}
			}
			if part.Cluster != "" {
				alone.Clusters = []string{part.Cluster}
			}
			want, err := db.SelectPods(t.Context(), &alone)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, &found[i], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(projection.PodSelection{}, "Moment")); diff != "" {
				t.Errorf("%s in order %+v after %v, %+v (-want +got):\n%s", what, q.Order, q.After, part, diff)
			}
		}
		if len(found) == 0 || len(found[0].Items) == 0 {
			return
		}
		q.After = &found[0].Items[len(found[0].Items)-1].PodPosition
	}
}
