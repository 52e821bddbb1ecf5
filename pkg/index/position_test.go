package index

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An order is total, strict and turned round by Desc, and it is the order of its
// columns.
func TestCompare(t *testing.T) {
	at := func(second int, cluster, namespace, name, kind string) Position {
		return Position{CreatedAt: time.Unix(int64(second), 0), Cluster: cluster, Namespace: namespace, Name: name, Kind: kind}
	}
	for _, tt := range []struct {
		field OrderField
		want  []Position
		why   string
	}{
		{OrderByNamespace, []Position{at(9, "b", "a", "b", "b"), at(0, "a", "b", "a", "a"), at(0, "a", "b", "a", "b"), at(0, "b", "b", "a", "a"), at(0, "a", "b", "b", "a")}, "namespace, name, cluster, kind; time does not matter"},
		{OrderByName, []Position{at(9, "b", "b", "a", "b"), at(0, "a", "a", "b", "a"), at(0, "a", "a", "b", "b"), at(0, "b", "a", "b", "a"), at(0, "a", "b", "b", "a")}, "name, namespace, cluster, kind"},
		{OrderByCreation, []Position{at(1, "b", "b", "b", "b"), at(2, "b", "a", "b", "a"), at(2, "a", "b", "a", "a"), at(2, "a", "b", "a", "b"), at(2, "b", "b", "a", "a"), at(2, "a", "b", "b", "a")}, "time, namespace, name, cluster, kind"},
	} {
		for i, a := range tt.want {
			for j, b := range tt.want {
				for _, desc := range []bool{false, true} {
					want := i > j
					if desc {
						want = i < j
					}
					if got := follows(Order{tt.field, desc}, a, b); got != want {
						t.Errorf("field %d, descending %v: %v follows %v: %v; want %s", tt.field, desc, a, b, got, tt.why)
					}
				}
			}
		}
		got := slices.Clone(tt.want)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b Position) int { return compare(Order{Field: tt.field}, a, b) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("field %d: %s (-want +got):\n%s", tt.field, tt.why, diff)
		}
	}
	utc := at(0, "a", "b", "c", "d")
	elsewhere := utc
	elsewhere.CreatedAt = utc.CreatedAt.In(time.FixedZone("", 3600))
	if compare(Order{Field: OrderByCreation}, utc, elsewhere) != 0 {
		t.Error("a moment is the same in every zone")
	}
}
