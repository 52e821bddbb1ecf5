package projection_test

import (
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// stateOf is what States returns of a row.
func stateOf(w *projection.Workload) projection.State {
	return projection.State{
		WorkloadKey: w.WorkloadKey, UID: w.UID, ResourceVersion: w.ResourceVersion, Health: w.Health, Message: w.Message, Suspended: w.Suspended,
		Desired: w.Desired, Updated: w.Updated, Ready: w.Ready, Available: w.Available, Placements: w.Placements, BindingID: w.BindingID,
	}
}

func TestStates(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		for i := range all {
			w := &all[i]
			w.UID, w.ResourceVersion, w.Message, w.Suspended, w.BindingID = "uid-"+w.Name, "7", `says "why"`, i%2 == 0, "binding-"+w.Name
			w.Desired, w.Updated, w.Ready, w.Available = int32(i), int32(i+1), int32(i+2), int32(i+3)
			w.Placements = append(w.Placements, projection.Placement{Cluster: "m1", Scheduled: true, Ready: &w.Ready, Health: w.Health, Message: "there"})
		}
		db := filled(t, index, all)
		var want []projection.State
		var keys []projection.WorkloadKey
		for i := range all[:10] {
			want, keys = append(want, stateOf(&all[i])), append(keys, all[i].WorkloadKey)
		}
		other := all[0].WorkloadKey
		other.Instance = "nobody's"
		for _, tt := range []struct {
			reason string
			keys   []projection.WorkloadKey
			want   []projection.State
		}{
			{"some, and one that is not there", append(keys, other), want},
			{"none that is there", []projection.WorkloadKey{other}, nil},
			{"none", []projection.WorkloadKey{}, nil},
		} {
			got, err := db.States(t.Context(), tt.keys)
			if err != nil {
				t.Fatalf("%s: %v", tt.reason, err)
			}
			slices.SortFunc(got.States, func(a, b projection.State) int {
				return slices.Index(keys, a.WorkloadKey) - slices.Index(keys, b.WorkloadKey)
			})
			if diff := gocmp.Diff(tt.want, got.States, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if got.Now == 0 || got.Pending != 0 {
				t.Errorf("%s: it is of %+v", tt.reason, got.Moment)
			}
		}
		if err := db.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := db.States(t.Context(), keys); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("while the rows are computed: got %+v, %v", got, err)
		}
	})
}
