package projection_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestTally: the numbers of workloads are those of the workloads whatever happens to these,
// and are found and mended where they were changed.
func TestTally(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		db := filled(t, index, all)
		total := func(why string, q projection.Query, want int) {
			t.Helper()
			q.Limit, q.WithCount = 1, true
			page, err := db.Select(t.Context(), &q)
			if err != nil || *page.Count != int64(want) {
				t.Errorf("%s: got %+v, %v; want %d", why, page, err, want)
			}
		}
		differ := func(why string, want int) {
			t.Helper()
			if got, err := db.Recount(t.Context()); err != nil || got != want {
				t.Errorf("%s: %d numbers differ (%v), want %d", why, got, err, want)
			}
		}
		round := func(w projection.Writes) {
			t.Helper()
			if err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) { return &w, nil }); err != nil {
				t.Fatal(err)
			}
		}
		everything := projection.Query{Instances: everywhere}
		total("at first", everything, len(all))
		differ("at first", 0)
		for i := range all { // Some are new, some change their health, and some nothing.
			all[i].Health = []string{"DEGRADED", all[i].Health, "UNKNOWN"}[i%3]
		}
		added := all[0]
		added.Name = "added"
		round(projection.Writes{Workloads: append(all, added)})
		total("after changes", everything, len(all)+1)
		total("in one state", projection.Query{Instances: everywhere, Health: []string{"UNKNOWN"}}, len(all)/3)
		differ("after changes", 0)
		round(projection.Writes{GoneWorkloads: []projection.WorkloadKey{added.WorkloadKey, all[5].WorkloadKey}})
		total("after some went", everything, len(all)-1)
		differ("after some went", 0)
		refused := errors.New("refused")
		if err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) { return nil, refused }); !errors.Is(err, refused) {
			t.Fatal(err)
		}
		differ("after a Round that failed", 0)
		index.Exec(t, "UPDATE kairship.tally SET n = n + 1 WHERE instance = 'alpha' AND health = 'UNKNOWN'")
		wrong := index.Number(t, "SELECT count(*) FROM kairship.tally WHERE instance = 'alpha' AND health = 'UNKNOWN'")
		differ("after somebody changed them", wrong)
		total("mended", everything, len(all)-1)
		drop := "DROP TRIGGER kairship_tally_insert"
		if index.Postgres {
			drop = "DROP TRIGGER tally_insert ON kairship.workload"
		}
		index.Exec(t, drop)
		for i := range 3 {
			added.Name = fmt.Sprintf("unseen-%d", i)
			round(projection.Writes{Workloads: []projection.Workload{added}})
		}
		total("without a trigger", everything, len(all)-1)
		install(t, db)
		total("after it was made again", everything, len(all)+2)
		differ("after it was made again", 0)
		index.Exec(t, "DELETE FROM kairship.workload")
		total("of none", everything, 0)
		if counted, err := db.Facets(t.Context(), &everything, []projection.FacetField{projection.FacetHealth}, 10); err != nil || counted.Facets[0].TotalValues != 0 {
			t.Errorf("of none: got %+v, %v", counted, err)
		}
	})
}
