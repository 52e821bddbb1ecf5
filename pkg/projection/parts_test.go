package projection_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/projection"
)

// parts are parts of lists, and what is in them.
var parts = []struct {
	part  projection.Part
	match func(*projection.Workload) bool
}{
	{projection.Part{Instance: "beta"}, func(w *projection.Workload) bool { return w.Instance == "beta" }},
	{projection.Part{Instance: "unknown"}, func(*projection.Workload) bool { return false }},
	{projection.Part{Instance: "alpha", Namespaces: []string{"shop", "other"}}, func(w *projection.Workload) bool { return w.Instance == "alpha" && w.Namespace != "shop2" }},
	{projection.Part{Instance: "alpha", Namespaces: []string{}}, func(*projection.Workload) bool { return false }},
	{projection.Part{Instance: "beta", Label: "app=app1"}, func(w *projection.Workload) bool { return w.Instance == "beta" && w.Labels["app"] == "app1" }},
}

// checkPart reads two pages of all parts, and looks at one of them.
func checkPart(t *testing.T, db *projection.DB, query *projection.Query, order projection.Order, at int, in []projection.Workload) {
	t.Helper()
	const size = 3
	var want []projection.Position
	for i := range in {
		want = append(want, place(&in[i]))
	}
	slices.SortFunc(want, func(a, b projection.Position) int { return compare(order, &a, &b) })
	asked := make([]projection.Part, len(parts))
	for i := range parts {
		asked[i] = parts[i].part
	}
	q := *query
	q.Order, q.Limit, q.WithCount, q.Show.States = order, size, true, true
	for begin := 0; begin <= size; begin += size {
		found, moment, err := db.SelectParts(t.Context(), &q, asked)
		if err != nil {
			t.Fatal(err)
		}
		one := found[at]
		if one.Count == nil || *one.Count != int64(len(want)) || moment.Now == 0 || one.HasNext != (len(want) > begin+size) {
			t.Errorf("part %d of %+v: it counts %v of %d, next %t, at %+v", at, query, one.Count, len(want), one.HasNext, moment)
		}
		var got []projection.Position
		for i := range one.Items {
			got = append(got, one.Items[i].Position)
		}
		if diff := gocmp.Diff(want[min(begin, len(want)):min(begin+size, len(want))], got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("part %d of %+v from %d (-want +got):\n%s", at, query, begin, diff)
		}
		if len(want) <= begin+size {
			return
		}
		q.After = &want[size-1]
	}
}
