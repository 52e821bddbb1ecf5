package projection

import (
	"context"
	"fmt"
	"strings"
)

// The table tally has how many workloads of a kind are in a namespace in a state of
// health, so that counting all workloads is adding up few numbers. Triggers on the table
// workload keep it, in the transaction that changes the workloads.

// tallyKey are the columns that it counts by.
var tallyKey = []column{{"instance", text}, {"namespace", text}, {"kind", text}, {"health", text}}

// tallied reports whether the table tally has what a query selects.
func (q *Query) tallied() bool {
	return len(q.Names) == 0 && q.NameContains == "" && len(q.Labels) == 0 && q.Selector == nil && q.Policy == nil &&
		len(q.ScheduledTo) == 0 && len(q.Images) == 0 && len(q.Words) == 0 && q.UID == "" && q.Drifted == nil
}

// count is the expression of the number of workloads that a query selects: by a condition on
// the table tally, or from rows.
func (q *Query) count(tallied bool, where, from string) string {
	switch {
	case !q.WithCount:
		return "NULL"
	case tallied:
		return "(SELECT CAST(coalesce(sum(w.n), 0) AS bigint) FROM kairship.tally w WHERE " + where + ")"
	}
	return "(SELECT count(*) FROM " + from + ")"
}

// tallyBody is the body of the function that PostgreSQL's triggers call once for each
// statement, with the rows that it changed.
func tallyBody() string {
	key := names("", tallyKey)
	add := func(rows string) string {
		return "INSERT INTO kairship.tally AS t (" + key + ", n) SELECT " + key + ", sum(d) FROM (" + rows + ") r GROUP BY " + key +
			" HAVING sum(d) <> 0 ON CONFLICT (" + key + ") DO UPDATE SET n = t.n + excluded.n;"
	}
	before, after := "SELECT "+key+", -1 AS d FROM before", "SELECT "+key+", 1 AS d FROM after"
	return `
BEGIN
	IF TG_OP = 'INSERT' THEN
		` + add(after) + `
	ELSIF TG_OP = 'DELETE' THEN
		` + add(before) + `
	ELSE
		` + add(before+" UNION ALL "+after) + `
	END IF;
	RETURN NULL;
END `
}

// tallyEvents is how many triggers there are: one for each of INSERT, DELETE and UPDATE.
const tallyEvents = 3

// tallyTriggers are the statements that make the triggers.
func (db *DB) tallyTriggers() []string {
	if db.postgres {
		all := []string{
			"CREATE OR REPLACE FUNCTION kairship.tally_workloads() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$" + tallyBody() + "$$",
			"DROP TRIGGER IF EXISTS tally_insert ON kairship.workload", "DROP TRIGGER IF EXISTS tally_delete ON kairship.workload", "DROP TRIGGER IF EXISTS tally_update ON kairship.workload",
		}
		for _, t := range []struct{ event, tables string }{
			{"INSERT", "NEW TABLE AS after"}, {"DELETE", "OLD TABLE AS before"}, {"UPDATE", "OLD TABLE AS before NEW TABLE AS after"},
		} {
			name := "tally_" + strings.ToLower(t.event)
			all = append(all, "CREATE TRIGGER "+name+" AFTER "+t.event+" ON kairship.workload REFERENCING "+t.tables+" FOR EACH STATEMENT EXECUTE FUNCTION kairship.tally_workloads()")
		}
		return all
	}
	add := func(row string, n int) string {
		return fmt.Sprintf("INSERT INTO kairship.tally (%s, n) VALUES (%s, %d) ON CONFLICT (%s) DO UPDATE SET n = n + excluded.n; ",
			names("", tallyKey), names(row, tallyKey), n, names("", tallyKey))
	}
	trigger := func(event, steps string) string {
		return "CREATE TRIGGER kairship_tally_" + strings.ToLower(event) + " AFTER " + event + " ON kairship.workload BEGIN " + steps + "END"
	}
	return []string{
		"DROP TRIGGER IF EXISTS kairship_tally_insert", "DROP TRIGGER IF EXISTS kairship_tally_delete", "DROP TRIGGER IF EXISTS kairship_tally_update",
		trigger("INSERT", add("NEW.", 1)), trigger("DELETE", add("OLD.", -1)), trigger("UPDATE", add("OLD.", -1)+add("NEW.", 1)),
	}
}

// installTally makes the triggers if one is missing or switched off, and counts what there
// is already.
func (db *DB) installTally(ctx context.Context, s session) error {
	look := "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'kairship\\_tally\\_%' ESCAPE '\\'"
	if db.postgres {
		look = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'kairship.workload'::regclass AND tgname LIKE 'tally\\_%' AND tgenabled = 'O'"
	}
	var found int
	if err := s.QueryRowContext(ctx, look).Scan(&found); err != nil {
		return err
	}
	if found == tallyEvents {
		return nil
	}
	for _, statement := range db.tallyTriggers() {
		if err := db.exec(ctx, s, statement); err != nil {
			return fmt.Errorf("making the triggers that count workloads: %w", err)
		}
	}
	if _, err := db.recount(ctx, s); err != nil {
		return fmt.Errorf("counting workloads: %w", err)
	}
	return nil
}

// Recount compares the numbers of workloads with the workloads, repairs those that differ,
// and returns how many there were.
func (db *DB) Recount(ctx context.Context) (differences int, err error) {
	if differences, err = db.miscounted(ctx, db.sql); err != nil || differences == 0 {
		return differences, err
	}
	err = db.immediate(ctx, func(s session) error {
		differences, err = db.recount(ctx, s)
		return err
	})
	return differences, err
}

// miscounted returns how many numbers differ.
func (db *DB) miscounted(ctx context.Context, s session) (differences int, err error) {
	err = s.QueryRowContext(ctx, db.text("SELECT count(*) FROM ("+differ+") d")).Scan(&differences)
	return differences, err
}

// differ selects by how much the numbers are wrong.
var differ = "SELECT " + names("", tallyKey) + ", sum(n) AS n FROM (SELECT " + names("", tallyKey) + ", count(*) AS n FROM kairship.workload GROUP BY " + names("", tallyKey) +
	" UNION ALL SELECT " + names("", tallyKey) + ", -n FROM kairship.tally) r GROUP BY " + names("", tallyKey) + " HAVING sum(n) <> 0"

func (db *DB) recount(ctx context.Context, s session) (differences int, err error) {
	if db.postgres {
		// No Round stores rows meanwhile.
		if _, err := s.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", roundLock); err != nil {
			return 0, err
		}
	}
	if differences, err = db.miscounted(ctx, s); err != nil || differences == 0 {
		return differences, err
	}
	key := names("", tallyKey)
	return differences, db.exec(ctx, s, "INSERT INTO kairship.tally AS t ("+key+", n) SELECT "+key+", n FROM ("+differ+") d WHERE true ON CONFLICT ("+key+") DO UPDATE SET n = t.n + excluded.n")
}
