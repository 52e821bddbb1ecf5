package projection

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// record stores in the history how what a Round stores differs from what there is. It belongs before that.
func (db *DB) record(ctx context.Context, s session, w *Writes) error {
	if len(w.Workloads)+len(w.GoneWorkloads)+len(w.Objects)+len(w.GoneObjects) == 0 {
		return nil
	}
	snapshot := &Snapshot{db: db, session: s, ctx: ctx}
	var since float64
	if err := s.QueryRowContext(ctx, db.text("SELECT history_since FROM kairship.meta")).Scan(&since); err != nil {
		return err
	}
	entries, err := snapshot.workloadEntries(w, int64(since))
	if err != nil {
		return err
	}
	more, err := snapshot.objectEntries(w.Objects, w.GoneObjects, int64(since))
	if err != nil {
		return err
	}
	return db.addHistory(ctx, s, append(entries, more...))
}

// addHistory adds entries. The creation of one object is recorded once, however often the index gets it.
func (db *DB) addHistory(ctx context.Context, s session, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	const instance = "SELECT o.uid FROM kairship.object_state o WHERE o.instance = r.instance AND o.kind = '" + KindInstance + "' AND o.namespace = '' AND o.name = r.instance"
	return db.exec(ctx, s, "INSERT INTO kairship.history ("+names("", historyColumns)+", instance_uid) SELECT "+names("r.", historyColumns)+", coalesce(("+instance+"), '') FROM "+db.rows(historyColumns)+
		" WHERE r.change <> '"+string(Created)+"' OR NOT EXISTS (SELECT 1 FROM kairship.history h WHERE "+same("h", workloadKey)+" AND h.change = r.change AND h.field = r.field)", string(rows))
}

// workloadEntries are how the workloads of a Round differ from their rows. Those that were there before the
// history began have no beginning in it.
func (s *Snapshot) workloadEntries(w *Writes, since int64) ([]Entry, error) {
	keys := slices.Clone(w.GoneWorkloads)
	for i := range w.Workloads {
		keys = append(keys, w.Workloads[i].WorkloadKey)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	named, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := read[observed](s, "SELECT "+s.db.object(of{"w", workloadKey}, of{"w", observedState}, of{"d", observedDoc})+
		" FROM "+s.db.rows(workloadKey)+s.db.lookup("workload", "w", same("w", workloadKey))+s.db.lookup("workload_doc", "d", "d.id = w.id"), string(named))
	if err != nil {
		return nil, err
	}
	before := make(map[WorkloadKey]*observed, len(rows))
	for i := range rows {
		before[rows[i].WorkloadKey] = &rows[i]
	}
	var entries []Entry
	for i := range w.Workloads {
		now := &w.Workloads[i]
		was := before[now.WorkloadKey]
		if created := now.CreatedAt >= since && now.UID != ""; created && (was == nil || was.UID != now.UID) {
			entries = append(entries, Entry{ObjectKey: now.WorkloadKey, Change: Created, Field: now.UID})
		}
		switch {
		case was != nil:
			entries = append(entries, differences(was, observe(now))...)
		case now.CreatedAt >= since:
			entries = append(entries, differences(&observed{WorkloadKey: now.WorkloadKey, Desired: now.Desired, Images: now.Images}, observe(now))...)
		}
	}
	for _, key := range w.GoneWorkloads {
		if was := before[key]; was != nil {
			entries = append(entries, Entry{ObjectKey: key, Change: Disappeared, Before: was.Health})
		}
	}
	return entries, nil
}

// objectEntries are how the states of objects differ from those that are stored.
func (s *Snapshot) objectEntries(objects []ObjectState, gone []ObjectKey, since int64) ([]Entry, error) {
	keys := slices.Clone(gone)
	for i := range objects {
		keys = append(keys, objects[i].ObjectKey)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	named, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	rows, err := read[ObjectState](s, "SELECT "+s.db.object(of{"o", workloadKey}, of{"o", objectStateColumns})+" FROM "+s.db.rows(workloadKey)+" CROSS JOIN kairship.object_state o WHERE "+same("o", workloadKey), string(named))
	if err != nil {
		return nil, err
	}
	before := make(map[ObjectKey]*ObjectState, len(rows))
	for i := range rows {
		before[rows[i].ObjectKey] = &rows[i]
	}
	var entries []Entry
	for i := range objects {
		now := &objects[i]
		was := before[now.ObjectKey]
		if created := now.CreatedAt >= since && now.UID != ""; created && (was == nil || was.UID != now.UID) {
			entries = append(entries, Entry{ObjectKey: now.ObjectKey, Change: Created, Field: now.UID})
		}
		if was == nil {
			continue
		}
		for _, name := range slices.Sorted(keysOf(was.State, now.State)) {
			if b, a := was.State[name], now.State[name]; b != a {
				change, field, _ := strings.Cut(name, "/")
				if HistoryChange(change) == CredentialsChanged && b == "" {
					continue // The first ones replace none.
				}
				entries = append(entries, Entry{ObjectKey: now.ObjectKey, Change: HistoryChange(change), Field: field, Before: b, After: a})
			}
		}
	}
	for _, key := range gone {
		if before[key] != nil {
			entries = append(entries, Entry{ObjectKey: key, Change: Disappeared})
		}
	}
	return entries, nil
}

// keysOf yields the keys of two maps, each once.
func keysOf(a, b map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range a {
			if !yield(key) {
				return
			}
		}
		for key := range b {
			if _, had := a[key]; !had && !yield(key) {
				return
			}
		}
	}
}

// recordWrite is the function of PostgreSQL that adds an entry for a program that may only read the tables.
const recordWrite = "record_write"

// RecordWrite adds what a user wrote, or tried to, in the instance with a UID: an entry of the history and one of the
// activity, of which either may be nil. A database of an earlier release gets the first alone.
func (db *DB) RecordWrite(ctx context.Context, instanceUID string, e *Entry, a *Activity) error {
	err := db.recordWrite(ctx, instanceUID, e, a)
	if a != nil && e != nil && noTable(err) {
		return db.recordWrite(ctx, instanceUID, e, nil)
	}
	return err
}

func (db *DB) recordWrite(ctx context.Context, instanceUID string, e *Entry, a *Activity) error {
	type step struct{ function, statement, row string }
	var steps []step
	if e != nil {
		row, err := json.Marshal([]Entry{*e})
		if err != nil {
			return err
		}
		steps = append(steps, step{recordWrite, db.insertWrite(), string(row)})
	}
	if a != nil {
		row, err := json.Marshal([]Activity{*a})
		if err != nil {
			return err
		}
		steps = append(steps, step{recordActivity, db.insertActivity(), string(row)})
	}
	if !db.postgres {
		return db.immediate(ctx, func(s session) error {
			for _, one := range steps {
				if err := db.exec(ctx, s, one.statement, one.row, instanceUID); err != nil {
					return err
				}
			}
			return nil
		})
	}
	// The connections read, unless a transaction asks to write.
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // After a commit it does nothing.
	if _, err := tx.ExecContext(ctx, "SET TRANSACTION READ WRITE"); err != nil {
		return err
	}
	for _, one := range steps {
		call := "SELECT kairship." + one.function + "($1, $2)" //nolint:gosec // The functions are constants.
		if _, err := tx.ExecContext(ctx, call, one.row, instanceUID); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// insertWrite is the statement that adds the entries of its first parameter, in the instance of its second.
func (db *DB) insertWrite() string {
	return "INSERT INTO kairship.history (" + names("", historyColumns) + ", instance_uid) SELECT " + names("r.", historyColumns) + ", $2 FROM " + db.rows(historyColumns)
}

// SetObjects stores the states of objects of one kind that are known from elsewhere than from the index, and
// records how they changed. Those of the kind that are missing no longer exist.
func (db *DB) SetObjects(ctx context.Context, kind string, all []ObjectState) error {
	before, err := read[ObjectState](&Snapshot{db: db, session: db.sql, ctx: ctx}, "SELECT "+db.object(of{"o", workloadKey}, of{"o", objectStateColumns})+" FROM kairship.object_state o WHERE o.kind = $1", kind)
	if err != nil {
		return err
	}
	w := &Writes{}
	left := map[ObjectKey]*ObjectState{}
	for i := range before {
		left[before[i].ObjectKey] = &before[i]
	}
	for i := range all {
		was := left[all[i].ObjectKey]
		delete(left, all[i].ObjectKey)
		if was == nil || was.UID != all[i].UID || !maps.Equal(was.State, all[i].State) {
			w.Objects = append(w.Objects, all[i])
		}
	}
	for key := range left {
		w.GoneObjects = append(w.GoneObjects, key)
	}
	if w.empty() {
		return nil
	}
	return db.immediate(ctx, func(s session) error { return db.store(ctx, s, w) })
}

// installHistory notes when the history begins, and has the objects that are there already read.
func (db *DB) installHistory(ctx context.Context, s session) error {
	if db.postgres {
		for name, statement := range map[string]string{recordWrite: db.insertWrite(), recordActivity: db.insertActivity()} {
			_, err := s.ExecContext(ctx, "CREATE OR REPLACE FUNCTION kairship."+name+"(written jsonb, instance_id text) RETURNS void "+
				"LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$"+statement+"$$")
			if err != nil {
				return fmt.Errorf("making the function %s: %w", name, err)
			}
		}
	}
	var since float64
	if err := s.QueryRowContext(ctx, db.text("SELECT history_since FROM kairship.meta")).Scan(&since); err != nil || since != 0 {
		return err
	}
	if err := db.exec(ctx, s, "UPDATE kairship.meta SET history_since = "+db.now()); err != nil {
		return err
	}
	for _, group := range []string{"cluster.karmada.io", "policy.karmada.io"} {
		err := db.exec(ctx, s, "INSERT INTO kairship.outbox ("+names("", changeColumns)+", lane) SELECT cluster, '"+ObjectGroup+"', resource, namespace, name, "+strconv.Itoa(laneRebuild)+
			` FROM resources o WHERE "group" = $1 AND `+isTracked("o."), group)
		if err != nil {
			return err
		}
	}
	return nil
}
