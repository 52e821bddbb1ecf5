package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// The locks of PostgreSQL that say who works on the projection.
const (
	installLock int64 = 0x6b616972_00000001
	roundLock   int64 = 0x6b616972_00000002
	podsLock    int64 = 0x6b616972_00000003
)

// Writes are what a Round stores.
type Writes struct {
	// Done are the IDs of the changes that are dealt with.
	Done []int64
	// Workloads and Members are rows to store, the others are to be removed.
	Workloads     []Workload
	GoneWorkloads []WorkloadKey
	Members       []Member
	GoneMembers   []MemberKey
	// Objects and GoneObjects are what the history follows besides workloads.
	Objects     []ObjectState
	GoneObjects []ObjectKey
	// Consequences are conditions for the workloads to compute again later.
	Consequences []Affected
	// Complete reports whether a rebuild has ended.
	Complete bool
	// Pods are what is stored of pods.
	Pods PodWrites
}

func (w *Writes) empty() bool {
	return len(w.Done)+len(w.Workloads)+len(w.GoneWorkloads)+len(w.Members)+len(w.GoneMembers)+len(w.Objects)+len(w.GoneObjects)+len(w.Consequences) == 0 && !w.Complete && w.Pods.empty()
}

// chain is a sequence of Rounds, of which two are never done side by side. lock keeps others from
// working in vain on PostgreSQL; column counts the Rounds on SQLite.
type chain struct {
	lock   int64
	column string
}

// View reads a snapshot. No Round waits for it.
func (db *DB) View(ctx context.Context, read func(*Snapshot) error) error {
	if !db.postgres {
		return db.onConn(ctx, "BEGIN", func(s session) error { return read(&Snapshot{db: db, session: s, ctx: ctx}) })
	}
	tx, err := db.sql.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return read(&Snapshot{db: db, session: tx, ctx: ctx})
}

// Round reads a snapshot and stores what was computed from it. It changes nothing when
// another projector stored something since the snapshot; see Overtaken.
func (db *DB) Round(ctx context.Context, compute func(*Snapshot) (*Writes, error)) error {
	return db.round(ctx, chain{roundLock, "round"}, compute)
}

// RoundOfPods is a Round that reads and stores nothing but pods. Neither waits for the other.
func (db *DB) RoundOfPods(ctx context.Context, compute func(*Snapshot) (*PodWrites, error)) error {
	return db.round(ctx, chain{podsLock, "pods_round"}, func(s *Snapshot) (*Writes, error) {
		pods, err := compute(s)
		if err != nil {
			return nil, err
		}
		return &Writes{Pods: *pods}, nil
	})
}

func (db *DB) round(ctx context.Context, in chain, compute func(*Snapshot) (*Writes, error)) error {
	if db.postgres {
		return db.roundPostgres(ctx, in, compute)
	}
	return db.roundSQLite(ctx, in, compute)
}

// roundPostgres is one transaction. The lock keeps other projectors from working in
// vain; that a row which another transaction changed since the snapshot cannot be
// changed is what makes it exact.
func (db *DB) roundPostgres(ctx context.Context, in chain, compute func(*Snapshot) (*Writes, error)) error {
	tx, err := db.sql.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // After a commit it does nothing.
	var locked bool
	if err := tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", in.lock).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return errOvertaken
	}
	writes, err := compute(&Snapshot{db: db, session: tx, ctx: ctx})
	if err != nil || writes.empty() {
		return err
	}
	if err := db.store(ctx, tx, writes); err != nil {
		return err
	}
	return tx.Commit()
}

// roundSQLite is a transaction that reads and a short one that writes, which counts the
// Rounds: when there was another one in between, the snapshot is old.
func (db *DB) roundSQLite(ctx context.Context, in chain, compute func(*Snapshot) (*Writes, error)) error {
	var round int64
	var writes *Writes
	number := "SELECT " + in.column + " FROM kairship.meta"
	err := db.onConn(ctx, "BEGIN", func(s session) error {
		err := s.QueryRowContext(ctx, db.text(number)).Scan(&round)
		if err != nil {
			return err
		}
		writes, err = compute(&Snapshot{db: db, session: s, ctx: ctx})
		return err
	})
	if err != nil || writes.empty() {
		return err
	}
	return db.immediate(ctx, func(s session) error {
		var now int64
		if err := s.QueryRowContext(ctx, db.text(number)).Scan(&now); err != nil {
			return err
		}
		if now != round {
			return errOvertaken
		}
		if err := db.exec(ctx, s, "UPDATE kairship.meta SET "+in.column+" = "+in.column+" + 1"); err != nil {
			return err
		}
		return db.store(ctx, s, writes)
	})
}

// store stores what a Round has computed.
func (db *DB) store(ctx context.Context, s session, w *Writes) error {
	id := []column{{"id", bigint}}
	done := make([]map[string]int64, len(w.Done))
	for i, number := range w.Done {
		done[i] = map[string]int64{"id": number}
	}
	since, err := db.since(ctx, s, w)
	if err != nil {
		return err
	}
	if err := db.record(ctx, s, w); err != nil {
		return fmt.Errorf("recording the history: %w", err)
	}
	states, docs, objects, searches := parts(w.Workloads)
	gone := db.among("id", "SELECT w.id FROM "+db.rows(workloadKey)+db.lookup("workload", "w", same("w", workloadKey)))
	for _, step := range []struct {
		rows      any
		n         int
		statement string
	}{
		{done, len(done), "DELETE FROM kairship.outbox WHERE " + db.among("id", "SELECT r.id FROM "+db.rows(id))},
		{w.GoneWorkloads, len(w.GoneWorkloads), "DELETE FROM kairship.workload_doc WHERE " + gone},
		{w.GoneWorkloads, len(w.GoneWorkloads), "DELETE FROM kairship.workload_object WHERE " + gone},
		{w.GoneWorkloads, len(w.GoneWorkloads), "DELETE FROM kairship.workload_search WHERE " + gone},
		{w.GoneWorkloads, len(w.GoneWorkloads), "DELETE FROM kairship.workload WHERE " + gone},
		{states, len(states), db.upsert("workload", workloadKey, workloadColumns)},
		{docs, len(docs), db.upsertBeside("workload_doc", docColumns)},
		{objects, len(objects), db.upsertBeside("workload_object", objectColumns)},
		{searches, len(searches), db.upsertBeside("workload_search", searchColumns)},
		{w.GoneMembers, len(w.GoneMembers), "DELETE FROM kairship.member WHERE EXISTS (SELECT 1 FROM " + db.rows(memberKey) + " WHERE " + same("kairship.member", memberKey) + ")"},
		{w.Members, len(w.Members), db.upsert("member", memberKey, memberColumns)},
		{w.GoneObjects, len(w.GoneObjects), "DELETE FROM kairship.object_state WHERE EXISTS (SELECT 1 FROM " + db.rows(workloadKey) + " WHERE " + same("kairship.object_state", workloadKey) + ")"},
		{w.Objects, len(w.Objects), db.upsert("object_state", workloadKey, objectStateColumns)},
		{w.Pods.Done, len(w.Pods.Done), "DELETE FROM kairship.pod_outbox WHERE " + db.among("id", "SELECT CAST(r.value AS bigint) FROM "+db.each()+" r")},
		{w.Pods.Gone, len(w.Pods.Gone), "DELETE FROM kairship.pod WHERE (" + names("", podKey) + ") IN (SELECT " + names("r.", podKey) + " FROM " + db.rows(podKey) + ")"},
		{w.Pods.Rows, len(w.Pods.Rows), db.upsert("pod", podKey, podColumns)},
		{w.Pods.Moved, len(w.Pods.Moved), "UPDATE kairship.pod SET instance = " + instanceOf("kairship.pod") + " WHERE cluster IN (SELECT r.value FROM " + db.each() + " r) AND instance <> " + instanceOf("kairship.pod")},
	} {
		if step.n == 0 {
			continue
		}
		rows, err := json.Marshal(step.rows)
		if err != nil {
			return err
		}
		if err := db.exec(ctx, s, step.statement, string(rows)); err != nil {
			return err
		}
	}
	for i := range w.Consequences {
		if err := db.enqueue(ctx, s, &w.Consequences[i], since); err != nil {
			return err
		}
	}
	if w.Pods.Complete {
		if err := db.exec(ctx, s, "UPDATE kairship.meta SET pods = $1 WHERE pods = $2", Complete, Building); err != nil {
			return err
		}
	}
	if w.Complete {
		return db.complete(ctx, s)
	}
	return nil
}

// The parts of a workload that are stored in a table each. The database parses no more than it stores.
type (
	storedState struct {
		*WorkloadKey
		*WorkloadState

		Ready int32 `json:"ready"`
	}
	storedDoc struct {
		*WorkloadKey
		*WorkloadDoc
	}
	storedObject struct {
		*WorkloadKey
		*WorkloadObject
	}
	storedSearch struct {
		*WorkloadKey
		*WorkloadSearch
	}
)

func parts(all []Workload) (states []storedState, docs []storedDoc, objects []storedObject, searches []storedSearch) {
	for i := range all {
		w := &all[i]
		states = append(states, storedState{&w.WorkloadKey, &w.WorkloadState, w.Ready})
		docs = append(docs, storedDoc{&w.WorkloadKey, &w.WorkloadDoc})
		objects = append(objects, storedObject{&w.WorkloadKey, &w.WorkloadObject})
		searches = append(searches, storedSearch{&w.WorkloadKey, &w.WorkloadSearch})
	}
	return states, docs, objects, searches
}

// since is the time of the oldest change that a Round deals with, when it leaves some of its
// work to later ones; else nil.
func (db *DB) since(ctx context.Context, s session, w *Writes) (at *float64, err error) {
	if len(w.Consequences) == 0 || len(w.Done) == 0 {
		return nil, nil //nolint:nilnil // There is none.
	}
	done, err := json.Marshal(w.Done)
	if err != nil {
		return nil, err
	}
	list := "SELECT value FROM json_each($1)"
	if db.postgres {
		list = "SELECT CAST(value AS bigint) FROM jsonb_array_elements_text($1::jsonb)"
	}
	err = s.QueryRowContext(ctx, db.text("SELECT min(at) FROM kairship.outbox WHERE id IN ("+list+")"), string(done)).Scan(&at)
	return at, err
}

// same is the condition that a row of a table has the key of a row of a parameter.
func same(table string, key []column) string {
	conditions := make([]string, len(key))
	for i, c := range key {
		conditions[i] = table + "." + c.name + " = r." + c.name
	}
	return strings.Join(conditions, " AND ")
}
