package access_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// imageRows answers with one image, whatever is asked for.
type imageRows struct {
	podRows
	image projection.ImageItem
}

func (r *imageRows) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	r.queries = append(r.queries, q)
	return &index.Page{Images: []projection.ImageItem{r.image}}, nil
}

// TestImagesAreConfined: users who see nothing cost no statement, a role in a namespace narrows it, and an
// answer that names what the user may not see is refused. A cluster that has left is not shown.
func TestImagesAreConfined(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	shop := projection.ImageItem{
		First:    []projection.WorkloadKey{{Instance: "alpha", Namespace: "shop", Name: "web", Kind: "DEPLOYMENT"}},
		Clusters: []projection.ImageCluster{{Instance: "alpha", Cluster: "m1", Pods: 2}, {Instance: "alpha", Cluster: "left", Pods: 1}},
	}
	ops, elsewhere := shop, shop
	ops.First = []projection.WorkloadKey{{Instance: "alpha", Namespace: "ops", Name: "agent", Kind: "DAEMON_SET"}}
	elsewhere.First, elsewhere.Clusters = nil, []projection.ImageCluster{{Instance: "beta", Cluster: "m3", Pods: 1}}
	for _, tt := range []struct {
		person string
		image  projection.ImageItem
		asked  bool
		shown  bool
	}{
		{"mallory", shop, false, false}, {"seen", shop, false, false}, {"bob", shop, true, false}, {"alice", shop, true, true}, {"admin", elsewhere, true, true},
		{"shop", shop, true, true}, {"shop", ops, true, false}, {"shop", elsewhere, true, false}, {"alice", elsewhere, true, false},
	} {
		below := &imageRows{image: tt.image}
		q := podsIn("k-alpha", "k-beta")
		q.Projected.ImageList = &index.ImageList{}
		page, err := access.NewReader(below, resolver, joined).List(as(t, tt.person), q)
		switch {
		case !tt.asked:
			if err != nil || len(page.Images) != 0 || len(below.queries) != 0 {
				t.Errorf("%s: got %+v, %v after %d statements", tt.person, page, err, len(below.queries))
			}
		case !tt.shown:
			if !apierror.Is(err, apierror.CodeInternal) {
				t.Errorf("%s is shown %+v, %v", tt.person, page, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.person, err)
		default:
			want := slices.DeleteFunc(slices.Clone(tt.image.Clusters), func(c projection.ImageCluster) bool { return c.Cluster == "left" })
			if diff := cmp.Diff(want, page.Images[0].Clusters); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.person, diff)
			}
		}
		if tt.person == "shop" && (len(below.queries[0].Clusters) != 0 || len(below.queries[0].Scopes) != 1) {
			t.Errorf("shop asked with %+v", below.queries[0])
		}
	}
}
