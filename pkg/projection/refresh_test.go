package projection_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// meta is what the table meta says: version, state and refresh.
func meta(t *testing.T, index *projectiontest.Database) string {
	t.Helper()
	return index.Text(t, "SELECT version || ' ' || state || ' ' || refresh FROM kairship.meta")
}

// step does the work of a projector of some version: it computes all rows, and ends a rebuild if one
// is under way.
func step(t *testing.T, db *projection.DB, version int, all []projection.Workload) {
	t.Helper()
	for range 2 { // It sees at the second look that nothing is left.
		err := db.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
			w := &projection.Writes{Workloads: all}
			for i := range w.Workloads {
				w.Workloads[i].Projection = version
			}
			pending, err := s.Pending(1000)
			if err != nil {
				return nil, err
			}
			for _, c := range pending {
				w.Done = append(w.Done, c.ID)
			}
			w.Complete, err = s.Rebuilt()
			return w, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestServedDuringRefresh checks that rows that are whole are read while they are computed again, of
// queries that they answer, and that such an answer is as fresh as before.
func TestServedDuringRefresh(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		all := rows()
		db := filled(t, index, all)
		q := projection.Query{Instances: everywhere, Health: []string{"DEGRADED"}, Limit: 50, WithCount: true}
		served := func(why string, want bool, change func(*projection.Query)) {
			t.Helper()
			of := q
			change(&of)
			page, err := db.Select(t.Context(), &of)
			if want && (err != nil || len(page.Items) != 12 || page.Lag() != 0) || !want && !errors.Is(err, projection.ErrIncomplete) {
				t.Errorf("%s: got %+v, %v; want an answer: %t", why, page, err, want)
			}
			if of.Order.Field == projection.ByReady {
				return
			}
			if counted, err := db.Facets(t.Context(), &of, []projection.FacetField{projection.FacetInstance, projection.FacetLabel}, 9); (err == nil) != want {
				t.Errorf("%s: counted %+v, %v; want an answer: %t", why, counted, err, want)
			}
			if found, err := db.Find(t.Context(), []projection.WorkloadKey{all[0].WorkloadKey}, projection.Show{}); (err == nil) != want {
				t.Errorf("%s: found %+v, %v; want an answer: %t", why, found, err, want)
			}
		}
		byHealth := func(*projection.Query) {}
		confined := func(q *projection.Query) { q.Confined, q.Words = true, []string{"word"} }
		byReady := func(q *projection.Query) { q.Order.Field = projection.ByReady }
		expect := func(why, want string) {
			t.Helper()
			if got := meta(t, index); got != want {
				t.Errorf("%s: meta is %q, want %q", why, got, want)
			}
		}
		const version = projection.Version
		for _, o := range all {
			stored := deployment(o.Name)
			stored.Namespace = o.Namespace
			index.Save(t, stored)
		}
		step(t, db, version, all)

		index.Exec(t, "UPDATE kairship.meta SET refresh = 'needed'")
		install(t, db)
		served("a refresh was asked for", true, byReady)
		if err := db.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("on demand", fmt.Sprintf("%d complete building", version))
		index.Exec(t, "UPDATE kairship.outbox SET at = at - 100")
		install(t, db)
		served("all rows are computed again", true, byReady)
		if lag, err := db.Lag(t.Context()); err != nil || lag != 0 {
			t.Errorf("rows that are computed again count as %f s late, %v", lag, err)
		}
		newer := deployment("late")
		index.Save(t, newer)
		index.Exec(t, "UPDATE kairship.outbox SET at = at - 7 WHERE name = 'late'")
		if page, err := db.Select(t.Context(), &q); err != nil || page.Lag() < 7*time.Second || page.Lag() > 50*time.Second {
			t.Errorf("a change of 7 s ago waits during a refresh: got %+v, %v", page, err)
		}
		step(t, db, version, all)
		expect("the refresh ended", fmt.Sprintf("%d complete ", version))

		// An upgrade from the version that lacks the column ready.
		step(t, db, 3, all)
		index.Exec(t, "UPDATE kairship.meta SET version = 3")
		index.Exec(t, "DROP INDEX kairship.workload_by_ready")
		index.Exec(t, "ALTER TABLE kairship.workload DROP COLUMN ready")
		served("before the upgrade", true, byHealth)
		served("before the upgrade, to a part", true, confined)
		served("before the upgrade, by a column that is not there", false, byReady)
		install(t, db)
		expect("after the upgrade", "3 complete needed")
		served("after the upgrade", true, byHealth)
		served("after the upgrade, by a column that is not filled", false, byReady)
		if err := db.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		install(t, db)
		expect("the upgrade is under way", "3 complete building")

		// The projector of before comes back for a while, and its rows lack the column.
		step(t, db, 3, all)
		expect("rows of another version are there", "3 complete needed")
		served("rows of another version are there", false, byReady)
		if err := db.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		step(t, db, version, all)
		expect("the upgrade ended", fmt.Sprintf("%d complete ", version))
		served("the upgrade ended", true, byReady)

		// A release that comes later goes back to this one.
		index.Exec(t, "UPDATE kairship.meta SET version = 99, refresh = 'building'")
		install(t, db)
		expect("after a downgrade", fmt.Sprintf("%d complete needed", version))
		served("after a downgrade", true, byReady)

		// Rows may be wrong after triggers were missing.
		index.Exec(t, "DROP TRIGGER kairship_inserted"+map[bool]string{true: " ON resources"}[index.Postgres])
		install(t, db)
		expect("a trigger was missing", fmt.Sprintf("%d needed ", version))
		served("a trigger was missing", false, byHealth)
	})
}

// TestInstallLetsReadersFinish checks that a reader that has read one table reads another while columns
// are added to both: an upgrade has no reader fail.
func TestInstallLetsReadersFinish(t *testing.T) {
	index := projectiontest.Postgres(t)
	db := filled(t, index, rows())
	index.Exec(t, "ALTER TABLE kairship.workload DROP COLUMN ready")
	index.Exec(t, "ALTER TABLE kairship.meta DROP COLUMN refresh")
	tx, err := index.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	read := func(table string) {
		t.Helper()
		if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM kairship."+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	read("meta")
	installed := make(chan error, 1)
	go func() { installed <- db.Install(t.Context()) }()
	for index.Number(t, "SELECT count(*) FROM pg_locks WHERE relation = 'kairship.meta'::regclass AND NOT granted") == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	read("workload")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-installed; err != nil {
		t.Error(err)
	}
}
