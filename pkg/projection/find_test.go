package projection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// stateOf is the state of a row.
func stateOf(w *projection.Workload) projection.State {
	return projection.State{
		WorkloadKey: w.WorkloadKey, UID: w.UID, ResourceVersion: w.ResourceVersion, Health: w.Health, Message: w.Message, Suspended: w.Suspended,
		Desired: w.Desired, Updated: w.Updated, Ready: w.Ready, Available: w.Available, Placements: w.Placements, BindingID: w.BindingID,
	}
}

func TestFind(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		for i := range all {
			w := &all[i]
			w.UID, w.ResourceVersion, w.Message, w.Suspended, w.BindingID = "uid-"+w.Name, "7", `says "why"`, i%2 == 0, "binding-"+w.Name
			w.Object = json.RawMessage(fmt.Sprintf(`{"metadata": {"name": %q}}`, w.Name))
			w.Desired, w.Updated, w.Ready, w.Available = int32(i), int32(i+1), int32(i+2), int32(i+3)
			w.Placements = append(w.Placements, projection.Placement{Cluster: "m1", Scheduled: true, Ready: &w.Ready, Health: w.Health, Message: "there"})
		}
		db := filled(t, index, all)
		want := map[projection.WorkloadKey]projection.State{}
		var keys []projection.WorkloadKey
		for i := range all[:10] {
			want[all[i].WorkloadKey], keys = stateOf(&all[i]), append(keys, all[i].WorkloadKey)
		}
		other := all[0].WorkloadKey
		other.Instance = "nobody's"
		for _, tt := range []struct {
			reason  string
			keys    []projection.WorkloadKey
			objects bool
			want    map[projection.WorkloadKey]projection.State
		}{
			{"some, and one that is not there", append(keys, other), true, want},
			{"without their objects", keys, false, want},
			{"none that is there", []projection.WorkloadKey{other}, true, nil},
			{"none", []projection.WorkloadKey{}, true, nil},
		} {
			found, err := db.Find(t.Context(), tt.keys, projection.Show{States: true, Objects: tt.objects})
			if err != nil {
				t.Fatalf("%s: %v", tt.reason, err)
			}
			got := map[projection.WorkloadKey]projection.State{}
			for i := range found.Items {
				item := &found.Items[i]
				got[item.WorkloadKey] = *item.State
				var o metav1.PartialObjectMetadata
				if tt.objects && (json.Unmarshal(item.Object, &o) != nil || o.Name != item.Name) || !tt.objects && item.Object != nil {
					t.Errorf("%s: the object of %s is %s", tt.reason, item.Name, item.Object)
				}
			}
			if diff := gocmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if found.Now == 0 || found.Pending != 0 {
				t.Errorf("%s: it is of %+v", tt.reason, found.Moment)
			}
		}
		index.Exec(t, "UPDATE kairship.meta SET state = ?", projection.Needed)
		if found, err := db.Find(t.Context(), keys, projection.Show{States: true}); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("while the rows are computed: got %+v, %v", found, err)
		}
	})
}
