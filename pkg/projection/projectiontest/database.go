// Package projectiontest has databases for tests as Clusterpedia makes them, on SQLite
// and on a PostgreSQL server of the test's own, and writes into them as it does.
package projectiontest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // The driver "pgx".
	_ "modernc.org/sqlite"             // The driver "sqlite".
)

// Database is a database of the index.
type Database struct {
	// DSN is what the projection is given.
	DSN string
	// SQL is the collector's own connection.
	SQL *sql.DB
	// Postgres returns which database it is.
	Postgres bool
}

// The table as Clusterpedia 0.9 makes it.
const (
	onSQLite = "CREATE TABLE `resources` (`id` integer PRIMARY KEY AUTOINCREMENT,`group` text NOT NULL,`version` text NOT NULL,`resource` text NOT NULL,`kind` text NOT NULL," +
		"`cluster` text NOT NULL,`namespace` text NOT NULL,`name` text NOT NULL,`owner_uid` text NOT NULL DEFAULT '',`uid` text NOT NULL,`resource_version` text NOT NULL," +
		"`object` JSON NOT NULL,`events` JSON,`event_resource_versions` JSON,`created_at` datetime NOT NULL,`synced_at` datetime NOT NULL,`deleted_at` datetime)"
	onPostgres = `CREATE TABLE "resources" ("id" bigserial,"group" varchar(63) NOT NULL,"version" varchar(15) NOT NULL,"resource" varchar(63) NOT NULL,"kind" varchar(63) NOT NULL,` +
		`"cluster" varchar(253) NOT NULL,"namespace" varchar(253) NOT NULL,"name" varchar(253) NOT NULL,"owner_uid" varchar(36) NOT NULL DEFAULT '',"uid" varchar(36) NOT NULL,` +
		`"resource_version" varchar(30) NOT NULL,"object" JSONB NOT NULL,"events" JSONB,"event_resource_versions" JSONB,"created_at" timestamptz NOT NULL,` +
		`"synced_at" timestamptz NOT NULL,"deleted_at" timestamptz,PRIMARY KEY ("id"))`
)

// indexes are those that Clusterpedia makes.
var indexes = []string{
	`CREATE UNIQUE INDEX uni_group_version_resource_cluster_namespace_name ON resources ("group", version, resource, cluster, namespace, name)`,
	`CREATE INDEX idx_cluster ON resources (cluster)`,
	`CREATE INDEX idx_group_version_resource_namespace_name ON resources ("group", version, resource, namespace, name)`,
	`CREATE INDEX idx_group_version_resource_name ON resources ("group", version, resource, name)`,
}

// Each runs a test on both databases.
func Each(t *testing.T, test func(t *testing.T, db *Database)) {
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// SQLite makes a database in a file. The collector has the projection's driver here, not its own: in one
// process, two libraries of SQLite drop each other's locks on a file, and what they write is damaged.
func SQLite(t testing.TB) *Database {
	t.Helper()
	return SQLiteIn(t, t.TempDir())
}

// SQLiteIn is SQLite in a folder.
func SQLiteIn(t testing.TB, folder string) *Database {
	t.Helper()
	file := filepath.Join(folder, "index.db")
	db := open(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate&_time_format=sqlite")
	prepare(t, db, onSQLite)
	return &Database{DSN: "file:" + file, SQL: db}
}

// Postgres makes a database on the test's server. The test is skipped where PostgreSQL is
// not installed, unless KAIRSHIP_REQUIRE_POSTGRES is set.
func Postgres(t testing.TB) *Database {
	t.Helper()
	s := theServer(t)
	return s.create(t, s.name(), "")
}

// PostgresIn is Postgres with its tables in a folder. The log of transactions stays with the server's.
func PostgresIn(t testing.TB, folder string) *Database {
	t.Helper()
	s := theServer(t)
	if err := s.own(folder); err != nil {
		t.Fatal(err)
	}
	name, admin := s.name(), open(t, "pgx", s.dsn("postgres"))
	if _, err := admin.ExecContext(t.Context(), "CREATE TABLESPACE "+name+" LOCATION '"+folder+"'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP DATABASE " + name, "DROP TABLESPACE " + name} {
			if _, err := admin.ExecContext(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
	return s.create(t, name, " TABLESPACE "+name)
}

func theServer(t testing.TB) *server {
	t.Helper()
	s, err := started()
	if errors.Is(err, errNotInstalled) && os.Getenv("KAIRSHIP_REQUIRE_POSTGRES") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// name is one that no other database of the server has.
func (s *server) name() string { return fmt.Sprintf("index_%d", s.databases.Add(1)) }

// create makes a database, where says in what tablespace.
func (s *server) create(t testing.TB, name, where string) *Database {
	t.Helper()
	if _, err := open(t, "pgx", s.dsn("postgres")).ExecContext(t.Context(), "CREATE DATABASE "+name+where); err != nil {
		t.Fatal(err)
	}
	db := open(t, "pgx", s.dsn(name))
	prepare(t, db, onPostgres)
	return &Database{DSN: s.dsn(name), SQL: db, Postgres: true}
}

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func prepare(t testing.TB, db *sql.DB, table string) {
	t.Helper()
	for _, statement := range append([]string{table}, indexes...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Object is a row of the collector.
type Object struct {
	Cluster, Group, Version, Resource, Namespace, Name string
	UID, ResourceVersion, OwnerUID                     string
	Text                                               string
}

// Save writes an object as Clusterpedia does: it inserts, and updates what is there.
func (d *Database) Save(t testing.TB, o Object) {
	t.Helper()
	if err := d.TrySave(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// TrySave is Save for goroutines.
func (d *Database) TrySave(ctx context.Context, o Object) error {
	now := time.Now()
	_, err := d.SQL.ExecContext(ctx, d.numbered(`INSERT INTO resources ("group", version, resource, kind, cluster, namespace, name, uid, resource_version, owner_uid, object, created_at, synced_at)
		VALUES (?, ?, ?, 'Any', ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
		o.Group, o.Version, o.Resource, o.Cluster, o.Namespace, o.Name, o.UID, o.ResourceVersion, o.OwnerUID, o.Text, now, now)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unique") {
		return err
	}
	_, err = d.SQL.ExecContext(ctx, d.numbered(`UPDATE resources SET uid = ?, resource_version = ?, object = ?, synced_at = ?
		WHERE "group" = ? AND version = ? AND resource = ? AND cluster = ? AND namespace = ? AND name = ?`),
		o.UID, o.ResourceVersion, o.Text, now, o.Group, o.Version, o.Resource, o.Cluster, o.Namespace, o.Name)
	return err
}

// Delete removes an object.
func (d *Database) Delete(t testing.TB, o Object) {
	t.Helper()
	d.Exec(t, `DELETE FROM resources WHERE "group" = ? AND version = ? AND resource = ? AND cluster = ? AND namespace = ? AND name = ?`,
		o.Group, o.Version, o.Resource, o.Cluster, o.Namespace, o.Name)
}

// Clean removes all objects of a cluster, in one statement.
func (d *Database) Clean(t testing.TB, cluster string) {
	t.Helper()
	d.Exec(t, "DELETE FROM resources WHERE cluster = ?", cluster)
}

// Exec executes a statement, whose tables of Kairship are in the schema kairship.
func (d *Database) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := d.SQL.ExecContext(t.Context(), d.numbered(statement), args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Number reads one number.
func (d *Database) Number(t testing.TB, statement string, args ...any) int {
	t.Helper()
	var n int
	if err := d.SQL.QueryRowContext(t.Context(), d.numbered(statement), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// Text reads one text.
func (d *Database) Text(t testing.TB, statement string, args ...any) string {
	t.Helper()
	var s string
	if err := d.SQL.QueryRowContext(t.Context(), d.numbered(statement), args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return s
}

func (d *Database) numbered(statement string) string {
	if !d.Postgres {
		return strings.ReplaceAll(statement, "kairship.", "kairship_")
	}
	for i := 1; strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", i), 1)
	}
	return statement
}
