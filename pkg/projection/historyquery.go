package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"
)

// PruneHistory removes what is older than it is kept, of all instances but those in kept, and of these what is
// older than it is kept of them, by their UIDs. It removes at most so many entries of the history and as many of the
// activity, and returns how many of that of which it removed more.
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
		for _, table := range []string{"kairship.history", "kairship.activity"} {
			result, err := s.ExecContext(ctx, db.text("DELETE FROM "+table+" WHERE id IN (SELECT h.id FROM "+table+" h LEFT JOIN "+db.rows(columns)+
				" ON r.instance_uid = h.instance_uid WHERE h.at < "+db.now()+" - coalesce(r.keep, $2) ORDER BY h.id LIMIT $3)"), string(rows), keep.Seconds(), limit)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			removed = max(removed, n)
		}
		return nil
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
	Changes []HistoryChange
	// From and To are in seconds since 1970; the entries are at From or later, and before To. 0 does not narrow.
	From, To float64
	// Before is the number of the entry before which the page begins; 0 for the first page.
	Before int64
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of entries on all pages.
	WithCount bool
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
	// HasNext reports that older ones follow.
	HasNext bool
	// Count is the number of entries on all pages; nil if it was not asked for.
	Count *int64
}

// Histories are pages of the histories of some objects.
type Histories struct {
	Moment

	// Pages are in the order of the objects.
	Pages []HistoryPage
	// Since is when the database began to have a history.
	Since time.Time
}

// History reads the histories of objects, with one statement.
func (db *DB) History(ctx context.Context, objects []HistoryQuery, r *HistoryRange) (*Histories, error) {
	type numbered struct {
		HistoryQuery

		N int `json:"n"`
	}
	asked := make([]numbered, len(objects))
	for i := range objects {
		asked[i] = numbered{objects[i], i}
	}
	s := &statement{db: db}
	s.json(asked) // The first parameter, which rows reads.
	key := slices.Concat(workloadKey, []column{{"instance_uid", text}})
	entry := slices.Concat(historyColumns, []column{{"id", bigint}, {"at", double}})
	from := db.rows(key, []column{{"n", integer}}) + " JOIN kairship.history h ON " + same("h", key) + s.historyWhere(r)
	count := "0"
	if r.WithCount {
		count = "count(*) OVER (PARTITION BY r.n)"
	}
	// The count is of all pages, the place that behind the end of the page before.
	later := "0"
	if r.Before != 0 {
		later = "CASE WHEN h.id < " + s.value(r.Before) + " THEN 0 ELSE 1 END"
	}
	counted := "SELECT r.n, " + names("h.", entry) + ", " + count + " AS total, " + later + " AS later FROM " + from
	columns := func(of string) string { return of + "n, " + names(of, entry) + ", " + of + "total, " + of + "later" }
	placed := "SELECT " + columns("c.") + ", row_number() OVER (PARTITION BY c.n, c.later ORDER BY c.id DESC) AS place FROM (" + counted + ") c"
	// Of an object with entries on other pages only, one is read for the count.
	text := "SELECT " + db.moment(earliest) + ", m.history_since, h.n, h.later, h.total, " + db.object(of{"h", entry}) + " FROM kairship.meta m LEFT JOIN (SELECT " + columns("p.") + " FROM (" + placed + ") p WHERE p.later = 0 AND p.place <= " + s.value(r.Limit+1) +
		" OR p.later = 1 AND p.place = 1) h ON true" + oneMeta + " ORDER BY h.n, h.id DESC"
	found := &Histories{Pages: make([]HistoryPage, len(objects))}
	err := s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var since float64
		var n, later, total sql.NullInt64
		var raw []byte
		if err := rows.Scan(append(moment, &since, &n, &later, &total, &raw)...); err != nil {
			return err
		}
		found.Since = time.UnixMicro(int64(since * 1e6)).UTC()
		if !n.Valid {
			return nil
		}
		return found.Pages[n.Int64].add(raw, later.Int64 == 0, total.Int64, r)
	})
	if err != nil {
		return nil, err
	}
	for i := range found.Pages {
		if r.WithCount && found.Pages[i].Count == nil {
			found.Pages[i].Count = new(int64) // No row has counted it.
		}
	}
	return found, nil
}

// add adds an entry that was read. One that is not on the page counts alone.
func (p *HistoryPage) add(raw []byte, on bool, total int64, r *HistoryRange) error {
	if r.WithCount {
		p.Count = &total
	}
	if !on {
		return nil
	}
	if len(p.Entries) == r.Limit {
		p.HasNext = true
		return nil
	}
	var e HistoryEntry
	err := json.Unmarshal(raw, &e)
	p.Entries = append(p.Entries, e)
	return err
}

// historyWhere are the conditions of a range, but for the place where the page begins. Each begins with AND.
func (s *statement) historyWhere(r *HistoryRange) string {
	where := ""
	if len(r.Changes) > 0 {
		names := make([]string, len(r.Changes))
		for i, c := range r.Changes {
			names[i] = string(c)
		}
		where += " AND " + s.in("h.change", names)
	}
	if r.From != 0 {
		where += " AND h.at >= " + s.value(r.From)
	}
	if r.To != 0 {
		where += " AND h.at < " + s.value(r.To)
	}
	return where
}
