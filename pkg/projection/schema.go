package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// table is a table of Kairship.
type table struct {
	name string
	// id is the column that numbers the rows; empty for none.
	id      string
	columns []column
	// key are the columns that are unique together.
	key []column
}

var tables = []table{
	{name: "workload", id: "id", columns: slices.Concat(workloadKey, workloadColumns), key: workloadKey},
	{name: "workload_doc", columns: slices.Concat([]column{{"id", bigint}}, docColumns), key: []column{{"id", bigint}}},
	{name: "workload_object", columns: slices.Concat([]column{{"id", bigint}}, objectColumns), key: []column{{"id", bigint}}},
	{name: "workload_search", columns: slices.Concat([]column{{"id", bigint}}, searchColumns), key: []column{{"id", bigint}}},
	{name: "tally", columns: slices.Concat(tallyKey, []column{{"n", bigint}}), key: tallyKey},
	{name: "member", columns: slices.Concat(memberKey, memberColumns), key: memberKey},
	{name: "collection", columns: slices.Concat(collectionKey, collectionColumns), key: collectionKey},
	{name: "outbox", id: "id", columns: slices.Concat(changeColumns, []column{{"lane", integer}})},
	{name: "pod", columns: slices.Concat(podKey, podColumns), key: podKey},
	// Pods have an outbox of their own: a release without them does not take what is in it.
	{name: "pod_outbox", id: "id", columns: slices.Concat(podKey, []column{{"lane", integer}})},
	{name: "history", id: "id", columns: slices.Concat([]column{{"instance_uid", text}}, historyColumns)},
	{name: "activity", id: "id", columns: slices.Concat([]column{{"instance_uid", text}}, activityColumns)},
	{name: "object_state", columns: slices.Concat(workloadKey, objectStateColumns), key: workloadKey},
	// round and pods_round count the Rounds, state is that of the projection, version the one that all rows are at
	// least of, refresh the state of a rebuild during which rows are read: empty, Needed or Building.
	// pods is the state of the table pod, pods_version the PodVersion that it is built for. history_since is when the
	// history begins, in seconds since 1970.
	{name: "meta", columns: []column{{"id", integer}, {"version", integer}, {"state", text}, {"round", bigint}, {"refresh", text}, {"pods", text}, {"pods_version", integer}, {"pods_round", bigint}, {"history_since", double}}, key: []column{{"id", integer}}},
}

// tableIndex is an index of a table of Kairship: its name without a prefix, and what it is on.
type tableIndex struct{ name, on string }

// indexes are those that serve the projector, and one for each order of lists: a page of a
// list of everything is then as quick as a page of little.
func (db *DB) indexes() []tableIndex {
	s := &statement{db: db}
	order := func(field OrderField) string {
		return "workload (" + strings.ReplaceAll(strings.Join(s.order(field), ", "), "w.", "") + ")"
	}
	all := []tableIndex{
		{"workload_by_namespace", order(ByNamespace)},
		{"workload_by_name", order(ByName)},
		{"workload_by_creation", order(ByCreation)},
		{"workload_by_health", order(ByHealth)},
		{"workload_by_ready", order(ByReady)},
		{"outbox_oldest", "outbox (lane, at, id)"},
		{"workload_work", "workload (instance, work_name)"},
		{"workload_policy", "workload (instance, policy_namespace, policy_name)"},
		{"workload_counted", "workload (instance, health)"},
		{"workload_health", "workload (instance, health) WHERE health <> 'HEALTHY'"},
		{"workload_drifted", order(ByNamespace) + " WHERE drifted"},
		{"history_of", "history (instance, kind, namespace, name, id)"},
		{"history_age", "history (at)"},
		{"activity_of", "activity (instance_uid, id)"},
		{"activity_age", "activity (at)"},
		{"workload_custom", order(ByNamespace) + " WHERE " + strings.ReplaceAll(customKinds, "w.", "")},
	}
	if db.postgres {
		all = append(all, []tableIndex{
			{"workload_clusters", "workload USING gin (clusters)"},
			{"workload_scheduled", "workload USING gin (scheduled)"},
			{"workload_labels", "workload USING gin (label_kv)"},
			{"workload_images", "workload_search USING gin (image_keys)"},
		}...)
	}
	return append(all, db.podIndexes()...)
}

// formerIndexes are those of an earlier version, which makes them again.
var formerIndexes = []string{"outbox_lane", "pod_outbox_lane"}

// installIndexes makes the indexes that are missing, and removes former ones. Those that there are it does
// not name in a statement: even CREATE INDEX IF NOT EXISTS would wait for all who write to the table, and
// have others wait.
func (db *DB) installIndexes(ctx context.Context, s session) error {
	look := "SELECT name FROM sqlite_master WHERE type = 'index'"
	if db.postgres {
		look = "SELECT indexname FROM pg_indexes WHERE schemaname = 'kairship'"
	}
	has := map[string]bool{}
	err := db.query(ctx, s, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		has[name] = true
		return err
	}, look)
	if err != nil {
		return err
	}
	for _, index := range db.indexes() {
		name := db.indexPrefix() + index.name
		if has[name] {
			continue
		}
		if err := db.exec(ctx, s, "CREATE INDEX "+name+" ON kairship."+index.on); err != nil {
			return fmt.Errorf("making the index %s: %w", name, err)
		}
	}
	for _, former := range formerIndexes {
		if !has[db.indexPrefix()+former] {
			continue
		}
		if err := db.exec(ctx, s, "DROP INDEX kairship."+former); err != nil {
			return fmt.Errorf("removing the index %s: %w", former, err)
		}
	}
	return nil
}

// indexPrefix begins the names of indexes: SQLite has one space of names for all.
func (db *DB) indexPrefix() string {
	if db.postgres {
		return ""
	}
	return "kairship_"
}

// create is the statement that makes a table.
func (db *DB) create(t *table) string {
	var parts []string
	if t.id != "" {
		kind := " INTEGER PRIMARY KEY AUTOINCREMENT" // Numbers that were used are not used again.
		if db.postgres {
			kind = " bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
		}
		parts = append(parts, t.id+kind)
	}
	for _, c := range t.columns {
		parts = append(parts, c.definition(db.postgres))
	}
	if slices.Contains([]string{"outbox", "pod_outbox", "history", "activity"}, t.name) {
		// Its time is the database's, because the clocks of the programs differ.
		at := "at REAL NOT NULL DEFAULT (unixepoch('subsec'))"
		if db.postgres {
			at = "at double precision NOT NULL DEFAULT extract(epoch FROM clock_timestamp())"
		}
		parts = append(parts, at)
	}
	if t.key != nil {
		parts = append(parts, "UNIQUE ("+names("", t.key)+")")
	}
	return "CREATE TABLE IF NOT EXISTS kairship." + t.name + " (" + strings.Join(parts, ", ") + ")"
}

// ErrNoResources means that Clusterpedia has not made its table yet.
var ErrNoResources = errors.New("the database has no table resources: Clusterpedia makes it when it starts")

// Install makes the tables and triggers that are missing. Where triggers were, changes
// may have been missed, so that the projection has to be rebuilt before it is read. Where only the
// version differs, every row is there and kept, so that they are read while they are computed again.
func (db *DB) Install(ctx context.Context) error {
	if err := db.installing(ctx, func(s session) error { return db.schema(ctx, s) }); err != nil {
		return err
	}
	for i := range tables {
		// A transaction each: a reader that waits for a table that has been changed, and has read one
		// that is to be changed, would be a deadlock.
		if err := db.installing(ctx, func(s session) error { return db.table(ctx, s, &tables[i]) }); err != nil {
			return err
		}
	}
	return db.installing(ctx, func(s session) error {
		if err := db.beside(ctx, s); err != nil {
			return err
		}
		installed, err := db.installTriggers(ctx, s, db.triggers())
		if err != nil {
			return err
		}
		if err := db.installTally(ctx, s); err != nil {
			return err
		}
		// A refresh of an earlier version goes on: Complete looks at what its rows are of.
		err = db.exec(ctx, s, `INSERT INTO kairship.meta AS t (id, version, state) VALUES (1, $1, $2)
			ON CONFLICT (id) DO UPDATE SET version = CASE WHEN t.version < $1 AND t.state = $4 AND NOT $3 THEN t.version ELSE $1 END,
				state = CASE WHEN t.state = $4 AND NOT $3 THEN t.state ELSE $2 END,
				refresh = CASE WHEN t.state = $4 AND NOT $3 THEN $2 ELSE '' END
			WHERE $3 OR t.version > $1 OR t.version < $1 AND (t.state <> $4 OR t.refresh = '')`,
			Version, Needed, installed, Complete)
		if err != nil {
			return err
		}
		if err := db.installCustom(ctx, s); err != nil {
			return err
		}
		if err := db.installInterpreters(ctx, s); err != nil {
			return err
		}
		if err := db.installHistory(ctx, s); err != nil {
			return err
		}
		return db.installPods(ctx, s)
	})
}

// installing does something in a transaction, in one program at a time: what exists is made again,
// which fails side by side.
func (db *DB) installing(ctx context.Context, do func(session) error) error {
	return db.immediate(ctx, func(s session) error {
		if db.postgres {
			if _, err := s.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", installLock); err != nil {
				return err
			}
		}
		return do(s)
	})
}

// schema makes the schema, once there is what it is about.
func (db *DB) schema(ctx context.Context, s session) error {
	found := false
	look := "SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'resources'"
	if db.postgres {
		look = "SELECT to_regclass('resources') IS NOT NULL"
	}
	if err := s.QueryRowContext(ctx, look).Scan(&found); err != nil {
		return err
	}
	if !found {
		return ErrNoResources
	}
	if db.postgres {
		if _, err := s.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS kairship"); err != nil {
			return fmt.Errorf("making the schema kairship: %w", err)
		}
	}
	return nil
}

// table makes a table, or the columns that it lacks.
func (db *DB) table(ctx context.Context, s session, t *table) error {
	if err := db.exec(ctx, s, db.create(t)); err != nil {
		return fmt.Errorf("making the table %s: %w", t.name, err)
	}
	if err := db.addColumns(ctx, s, t); err != nil {
		return fmt.Errorf("adding columns to the table %s: %w", t.name, err)
	}
	return nil
}

// beside makes the functions and indexes.
func (db *DB) beside(ctx context.Context, s session) error {
	if err := db.installReaders(ctx, s); err != nil {
		return err
	}
	if err := db.installOwners(ctx, s); err != nil {
		return fmt.Errorf("making the index of owners on the table resources: %w", err)
	}
	return db.installIndexes(ctx, s)
}

// addColumns adds the columns that a table of an earlier version lacks. None is ever
// changed or removed, so that the version before goes on working.
func (db *DB) addColumns(ctx context.Context, s session, t *table) error {
	look := "SELECT name FROM pragma_table_info('kairship_' || $1)"
	if db.postgres {
		look = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'kairship' AND table_name = $1"
	}
	has := map[string]bool{}
	err := db.query(ctx, s, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		has[name] = true
		return err
	}, look, t.name)
	if err != nil {
		return err
	}
	for _, c := range t.columns {
		if has[c.name] {
			continue
		}
		if err := db.exec(ctx, s, "ALTER TABLE kairship."+t.name+" ADD COLUMN "+c.definition(db.postgres)); err != nil {
			return err
		}
	}
	return nil
}
