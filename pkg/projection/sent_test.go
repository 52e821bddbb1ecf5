package projection_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestSentTo reads where workloads were sent to, on both databases.
func TestSentTo(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := filled(t, index, places())
		for _, tt := range []struct {
			why    string
			scopes []projection.Scope
			want   map[projection.Sent]bool
		}{
			{"one namespace", []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop", "ops"}}}, map[projection.Sent]bool{{Instance: "alpha", Namespace: "shop", Cluster: "m1"}: true}},
			{"a workload that was sent nowhere does not count", []projection.Scope{{Instance: "beta", Namespaces: []string{"shop", "other"}}}, map[projection.Sent]bool{
				{Instance: "beta", Namespace: "shop", Cluster: "m3"}: true, {Instance: "beta", Namespace: "shop", Cluster: "m1"}: true, {Instance: "beta", Namespace: "other", Cluster: "m3"}: true,
			}},
			{"two instances", []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}, {Instance: "beta", Namespaces: []string{"other"}}}, map[projection.Sent]bool{
				{Instance: "alpha", Namespace: "shop", Cluster: "m1"}: true, {Instance: "beta", Namespace: "other", Cluster: "m3"}: true,
			}},
			{"no such namespace", []projection.Scope{{Instance: "alpha", Namespaces: []string{"other"}}}, map[projection.Sent]bool{}},
			{"no namespace", []projection.Scope{{Instance: "alpha"}}, map[projection.Sent]bool{}},
		} {
			got, _, err := db.SentTo(t.Context(), tt.scopes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
		}
	})
}

// TestSentToWhileItIsBuilt answers nothing from a part of the rows.
func TestSentToWhileItIsBuilt(t *testing.T) {
	index := projectiontest.SQLite(t)
	db := filled(t, index, places())
	index.Exec(t, "UPDATE kairship.meta SET state = 'building'")
	if got, _, err := db.SentTo(t.Context(), []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}}); !errors.Is(err, projection.ErrIncomplete) {
		t.Errorf("got %v, %v", got, err)
	}
}
