package projection_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

func open(t testing.TB, dsn string) *projection.DB {
	t.Helper()
	db, err := projection.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func install(t testing.TB, db *projection.DB) {
	t.Helper()
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, db *projection.DB) string {
	t.Helper()
	s, _, err := db.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func deployment(name string) projectiontest.Object {
	return projectiontest.Object{Cluster: "k-alpha", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: name, UID: "u", ResourceVersion: "1", Text: "{}"}
}

// changes are those in the outbox.
func changes(t *testing.T, db *projection.DB) []string {
	t.Helper()
	var got []string
	err := db.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
		all, err := s.Pending(1000)
		w := &projection.Writes{}
		for _, c := range all {
			got = append(got, strings.Join([]string{c.Cluster, c.Group, c.Resource, c.Namespace, c.Name}, " "))
			w.Done = append(w.Done, c.ID)
		}
		return w, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestTriggers: each change of an object that matters is in the outbox, and nothing else.
func TestTriggers(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		install(t, db)
		web := deployment("web")
		pod := web
		pod.Group, pod.Resource = "", "pods"
		newer, again := web, web
		newer.ResourceVersion, again.UID = "2", "v"
		const name = "k-alpha apps deployments shop web"
		for _, step := range []struct {
			reason string
			do     func()
			want   []string
		}{
			{"an object is collected", func() { index.Save(t, web) }, []string{name}},
			{"it is collected again as it was", func() { index.Save(t, web) }, nil},
			{"an event about it is recorded", func() {
				index.Exec(t, "UPDATE resources SET events = '{}' WHERE cluster = ? AND uid = ?", "k-alpha", "u")
			}, nil},
			{"it changed", func() { index.Save(t, newer) }, []string{name}},
			{"another object of its name, with the version that the first had", func() { index.Save(t, again) }, []string{name}},
			{"a kind that no state depends on", func() { index.Save(t, pod) }, nil},
			{"it is deleted", func() { index.Delete(t, web) }, []string{name}},
			{"a kind that no state depends on is deleted", func() { index.Delete(t, pod) }, nil},
			{"a cluster is removed in one statement", func() {
				for _, each := range []string{"a", "b"} {
					index.Save(t, deployment(each))
				}
				_ = changes(t, db)
				index.Clean(t, "k-alpha")
			}, []string{"k-alpha apps deployments shop a", "k-alpha apps deployments shop b"}},
		} {
			step.do()
			got := changes(t, db)
			slices.Sort(got)
			if !slices.Equal(got, step.want) {
				t.Errorf("%s: the outbox has %q, want %q", step.reason, got, step.want)
			}
		}
	})
}

// TestInstall: what is there is left alone, what is missing comes back and asks for a rebuild.
func TestInstall(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		install(t, db)
		on := ""
		if index.Postgres {
			on = " ON resources"
		}
		steps := []struct {
			reason string
			do     func()
			want   string
		}{
			{"nothing is missing", func() {}, projection.Complete},
			{"a trigger was dropped", func() { index.Exec(t, "DROP TRIGGER kairship_deleted"+on) }, projection.Needed},
			{"a column of a later version is there", func() { index.Exec(t, "ALTER TABLE kairship.workload ADD COLUMN later text") }, projection.Complete},
			{"a column is missing, as before an upgrade", func() { index.Exec(t, "ALTER TABLE kairship.workload DROP COLUMN uid") }, projection.Complete},
			{"it was built by another version", func() { index.Exec(t, "UPDATE kairship.meta SET version = 99") }, projection.Complete},
			{"an earlier version did not build it to its end", func() { index.Exec(t, "UPDATE kairship.meta SET version = 3, state = 'building'") }, projection.Needed},
			{"a trigger was dropped during a refresh", func() {
				index.Exec(t, "UPDATE kairship.meta SET version = 3, refresh = 'building'")
				index.Exec(t, "DROP TRIGGER kairship_deleted"+on)
			}, projection.Needed},
		}
		if index.Postgres {
			steps = append(steps, []struct {
				reason string
				do     func()
				want   string
			}{
				{"a trigger was switched off", func() { index.Exec(t, "ALTER TABLE resources DISABLE TRIGGER kairship_updated") }, projection.Needed},
				{"a trigger's function was changed", func() {
					index.Exec(t, "CREATE OR REPLACE FUNCTION kairship.record_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
				}, projection.Needed},
			}...)
		}
		for _, step := range steps {
			index.Exec(t, "UPDATE kairship.meta SET state = ?", projection.Complete)
			step.do()
			install(t, db)
			if got := state(t, db); got != step.want {
				t.Errorf("%s: the projection is %s, want %s", step.reason, got, step.want)
			}
			index.Save(t, deployment("web"))
			index.Delete(t, deployment("web"))
			if got := changes(t, db); len(got) != 2 {
				t.Errorf("%s: the outbox has %q", step.reason, got)
			}
		}
	})
}

// TestTriggersNeverFail: the collector writes also when nothing can be recorded, because
// an error would make it drop the object.
func TestTriggersNeverFail(t *testing.T) {
	index := projectiontest.Postgres(t)
	install(t, open(t, index.DSN))
	index.Save(t, deployment("before"))
	index.Exec(t, "DROP TABLE kairship.outbox")
	newer := deployment("before")
	newer.ResourceVersion = "2"
	index.Save(t, newer)
	index.Save(t, deployment("after"))
	index.Delete(t, newer)
	if n := index.Number(t, "SELECT count(*) FROM resources"); n != 1 {
		t.Errorf("the collector has %d objects, want 1", n)
	}
}

// TestColumnTypes: Clusterpedia can change the types of its columns, as its upgrades do.
func TestColumnTypes(t *testing.T) {
	index := projectiontest.Postgres(t)
	install(t, open(t, index.DSN))
	for _, column := range []string{`"group"`, "resource", "cluster", "namespace", "name", "uid", "resource_version"} {
		index.Exec(t, "ALTER TABLE resources ALTER COLUMN "+column+" TYPE varchar(500)")
	}
	index.Save(t, deployment("web"))
	if n := index.Number(t, "SELECT count(*) FROM kairship.outbox"); n != 1 {
		t.Errorf("the outbox has %d changes, want 1", n)
	}
}

// TestNoResources: before Clusterpedia has made its table nothing is made.
func TestNoResources(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		index.Exec(t, "DROP TABLE resources")
		if err := open(t, index.DSN).Install(t.Context()); !errors.Is(err, projection.ErrNoResources) {
			t.Errorf("got %v, want %v", err, projection.ErrNoResources)
		}
	})
}

// TestDSN: a DSN that cannot be used says so, and never shows itself.
func TestDSN(t *testing.T) {
	for _, dsn := range []string{
		"", "mysql://root:secret@localhost/index", "file:", "file://host/index.db?password=secret",
		"postgres://user:secret@host:port/index", "postgres://user:secret@host/index?sslmode=secret",
	} {
		db, err := projection.Open(dsn)
		if err == nil {
			_ = db.Close()
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v", err), "secret") {
			t.Errorf("the error shows the DSN: %v", err)
		}
	}
}

// TestRights: the projector and the reader need no more than docs/operations.md grants,
// and the collector has no rights on the projection.
func TestRights(t *testing.T) {
	index := projectiontest.Postgres(t)
	for _, statement := range []string{"CREATE ROLE collector", "ALTER TABLE resources OWNER TO collector", "REVOKE ALL ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SEQUENCE resources_id_seq TO collector"} {
		index.Exec(t, statement)
	}
	documented := strings.Replace(documentedSQL(t), "DATABASE clusterpedia", "DATABASE "+index.Text(t, "SELECT current_database()"), 1)
	index.Exec(t, documented)
	index.Exec(t, "GRANT USAGE ON SCHEMA public TO collector, kairship")
	db := open(t, strings.Replace(index.DSN, "user=postgres", "user=kairship", 1))
	install(t, db)
	reader, err := projection.OpenReader(func() (string, error) {
		return strings.Replace(index.DSN, "user=postgres", "user=kairship_reader", 1), nil
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if _, err := reader.Select(t.Context(), &projection.Query{Instances: []string{"alpha"}, Limit: 1}); !errors.Is(err, projection.ErrIncomplete) {
		t.Errorf("the reader gets %v, want %v", err, projection.ErrIncomplete)
	}
	index.SQL.SetMaxOpenConns(1)
	index.Exec(t, "SET ROLE collector")
	index.Save(t, deployment("web"))
	index.Exec(t, "UPDATE resources SET resource_version = '2'")
	index.Exec(t, "DELETE FROM resources")
	may := func(role string, statements ...string) {
		t.Helper()
		index.Exec(t, "RESET ROLE")
		index.Exec(t, "SET ROLE "+role)
		for _, statement := range statements {
			if _, err := index.SQL.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("the role %s may %s", role, statement)
			}
		}
	}
	may("collector", "SELECT 1 FROM kairship.outbox", "SELECT kairship.record_row()")
	if got := changes(t, db); len(got) != 3 {
		t.Errorf("the outbox has %q, want three changes", got)
	}
	index.Exec(t, "RESET ROLE")
	read, secret := saved(t, index, "m1", "apps", "deployments", "shop", "web"), saved(t, index, "m1", "", "secrets", "shop", "web")
	if found, err := reader.Objects(t.Context(), projection.Whole, []projection.ResourceKey{read, secret}); err != nil || len(found) != 1 || found[0].ResourceKey != read {
		t.Errorf("the reader reads %+v, %v; want the deployment and no secret", found, err)
	}
	lacks := func(want bool) {
		t.Helper()
		if statement, err := db.Lacking(t.Context()); err != nil || (statement != "") != want {
			t.Errorf("the projector lacks %q, %v; want %v", statement, err, want)
		}
	}
	lacks(false)
	index.Exec(t, "DROP INDEX kairship_owners")
	install(t, db) // Which is not its right to make again.
	lacks(true)
	may("kairship", "DELETE FROM resources", "UPDATE resources SET name = ''")
	may("kairship_reader", "SELECT 1 FROM public.resources", "DELETE FROM kairship.workload", "INSERT INTO kairship.outbox DEFAULT VALUES", "CREATE TABLE kairship.mine ()")
}

// documentedSQL is what docs/operations.md has an administrator run.
func documentedSQL(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "### The projection")
	_, after, found := strings.Cut(after, "```sql\n")
	text, _, ends := strings.Cut(after, "```")
	if !found || !ends {
		t.Fatal("docs/operations.md has no SQL under The projection")
	}
	return text
}

// TestInstallWaitsForNobody: the projector installs every minute. Where all is there, that neither waits for
// those who write to the tables, Clusterpedia's among them, nor has them wait.
func TestInstallWaitsForNobody(t *testing.T) {
	index := projectiontest.Postgres(t)
	db := open(t, index.DSN)
	install(t, db)
	err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
		writer, err := sql.Open("pgx", index.DSN)
		if err != nil {
			return nil, err
		}
		defer func() { _ = writer.Close() }()
		tx, err := writer.BeginTx(t.Context(), nil)
		if err != nil {
			return nil, err
		}
		defer func() { _ = tx.Rollback() }()
		// As INSERT, UPDATE and DELETE do.
		_, err = tx.ExecContext(t.Context(), `DO $$ DECLARE r record; BEGIN
			FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = 'kairship' LOOP
				EXECUTE format('LOCK TABLE kairship.%I IN ROW EXCLUSIVE MODE', r.tablename);
			END LOOP; LOCK TABLE resources IN ROW EXCLUSIVE MODE; END $$`)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return &projection.Writes{}, db.Install(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFormerIndexesGo: an index that a release before made is removed.
func TestFormerIndexesGo(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		install(t, db)
		prefix, table, look := "", "kairship.outbox", "SELECT count(*) FROM pg_indexes WHERE schemaname = 'kairship' AND indexname = 'outbox_lane'"
		if !strings.HasPrefix(index.DSN, "postgres") {
			prefix, table, look = "kairship_", "kairship_outbox", "SELECT count(*) FROM sqlite_master WHERE name = 'kairship_outbox_lane'"
		}
		index.Exec(t, "CREATE INDEX "+prefix+"outbox_lane ON "+table+" (lane, id)")
		if n := index.Number(t, look); n != 1 {
			t.Fatalf("%d indexes, want the one that was made", n)
		}
		install(t, db)
		if n := index.Number(t, look); n != 0 {
			t.Error("the index is there")
		}
	})
}
