package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
)

// PruneHistory removes what is older than it is kept, of all instances but those in kept, and of these what is
// older than it is kept of them, by their UIDs. It removes at most so many entries, and returns how many.
func (db *DB) PruneHistory(ctx context.Context, keep time.Duration, kept map[string]time.Duration, limit int) (int64, error) {
	// Its text, because a key of a map may not be a parameter.
	type of struct {
		UID  string  `json:"instance_uid"`
		Keep float64 `json:"keep"`
	}
	own := []of{}
	for uid, d := range kept {
		own = append(own, of{uid, d.Seconds()})
	}
	rows, err := json.Marshal(own)
	if err != nil {
		return 0, err
	}
	var removed int64
	err = db.immediate(ctx, func(s session) error {
		columns := []column{{"instance_uid", text}, {"keep", double}}
		result, err := s.ExecContext(ctx, db.text("DELETE FROM kairship.history WHERE id IN (SELECT h.id FROM kairship.history h LEFT JOIN "+db.rows(columns)+
			" ON r.instance_uid = h.instance_uid WHERE h.at < "+db.now()+" - coalesce(r.keep, $2) ORDER BY h.id LIMIT $3)"), string(rows), keep.Seconds(), limit)
		if err != nil {
			return err
		}
		removed, err = result.RowsAffected()
		return err
	})
	return removed, err
}

// HistoryQuery selects entries of one object.
type HistoryQuery struct {
	ObjectKey

	// InstanceUID is that of the instance, so that another one of the same name has a history of its own.
	InstanceUID string `json:"instance_uid"`
}

// HistoryRange says which entries are read of each object, the latest first.
type HistoryRange struct {
	// Changes narrow, unless there are none.
	Changes []string
	// From and To are in seconds since 1970; the entries are at From or later, and before To. 0 does not narrow.
	From, To float64
	// Before is the number of the entry before which the page begins; 0 for the first page.
	Before int64
	// Limit is the size of the page.
	Limit int
}

// HistoryEntry is an entry with its number and its time.
type HistoryEntry struct {
	Entry

	ID int64 `json:"id"`
	// At is when the database got it, in seconds since 1970.
	At float64 `json:"at"`
}

// HistoryPage is a page of the history of one object.
type HistoryPage struct {
	Entries []HistoryEntry
	HasNext bool
}

// History reads the histories of objects with one statement, and since when there are any, in seconds since
// 1970. The pages are in the order of the objects.
func (db *DB) History(ctx context.Context, objects []HistoryQuery, r *HistoryRange) (pages []HistoryPage, since float64, at Moment, err error) {
	type numbered struct {
		HistoryQuery

		N int `json:"n"`
	}
	asked := make([]numbered, len(objects))
	for i := range objects {
		asked[i] = numbered{objects[i], i}
	}
	s := &statement{db: db}
	s.json(asked) // The first parameter.
	where := ""
	if len(r.Changes) > 0 {
		where += " AND " + s.in("h.change", r.Changes)
	}
	for _, bound := range []struct {
		condition string
		value     float64
	}{{"h.at >= ", r.From}, {"h.at < ", r.To}, {"h.id < ", float64(r.Before)}} {
		if bound.value != 0 {
			where += " AND " + bound.condition + s.value(bound.value)
		}
	}
	key := slices.Concat(workloadKey, []column{{"instance_uid", text}})
	entry := slices.Concat(historyColumns, []column{{"id", bigint}, {"at", double}})
	ranked := "SELECT r.n, " + names("h.", entry) + ", row_number() OVER (PARTITION BY r.n ORDER BY h.id DESC) AS place FROM " +
		db.rows(key, []column{{"n", integer}}) + " JOIN kairship.history h ON " + same("h", key) + where
	text := "SELECT " + db.moment(earliest) + ", m.history_since, h.n, " + db.object(of{"h", entry}) + " FROM kairship.meta m LEFT JOIN (SELECT * FROM (" + ranked + ") k WHERE k.place <= " + s.value(r.Limit+1) +
		") h ON true" + oneMeta + " ORDER BY h.n, h.id DESC"
	pages = make([]HistoryPage, len(objects))
	err = s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var n sql.NullInt64
		var raw []byte
		if err := rows.Scan(append(moment, &since, &n, &raw)...); err != nil || !n.Valid {
			return err
		}
		p := &pages[n.Int64]
		if len(p.Entries) == r.Limit {
			p.HasNext = true
			return nil
		}
		var e HistoryEntry
		err := json.Unmarshal(raw, &e)
		p.Entries = append(p.Entries, e)
		return err
	})
	return pages, since, at, err
}
