package projection

import (
	"context"
	"database/sql"
	"slices"
)

// SelectPodParts reads the same page of several parts, with one statement. The query's own Instances
// and Scopes are ignored, and parts have no labels.
func (db *DB) SelectPodParts(ctx context.Context, q *PodQuery, parts []Part) ([]PodSelection, Moment, error) {
	s := &statement{db: db}
	text := s.podPages(q, parts)
	found := make([]PodSelection, len(parts))
	var at Moment
	err := s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var n sql.NullInt64
		var count *int64
		var row []byte
		if err := rows.Scan(append(moment, &n, &count, &row)...); err != nil || !n.Valid {
			return err
		}
		of := &found[n.Int64]
		of.Count = count
		return of.add(row)
	})
	if err != nil {
		return nil, at, err
	}
	for i := range found {
		found[i].Moment = at
		found[i].cut(q.Limit)
	}
	return found, at, nil
}

// podPages is the statement that reads the same page of several parts.
func (s *statement) podPages(q *PodQuery, parts []Part) string {
	scoped := slices.ContainsFunc(parts, func(p Part) bool { return p.Namespaces != nil })
	list := s.parts(s.json(parts))
	columns := s.podOrder(q.Order.Field)
	from := s.podsInPart(q, scoped)
	if slices.ContainsFunc(parts, func(p Part) bool { return p.Cluster != "" }) {
		from += " AND w.cluster = r.cluster"
	}
	from += s.podsWhere(q)
	count := "NULL"
	if q.WithCount {
		count = "(SELECT count(*) FROM " + from + ")"
	}
	by := ordered(columns, q.Order.Desc)
	page := func(selected string) string {
		return "SELECT " + selected + " FROM " + from + s.podsAfter(q, columns) + " ORDER BY " + by + s.limit(q.Limit+1)
	}
	var rows string
	if s.db.postgres {
		shown := names("w.", podKey, shownPodColumns)
		rows = "(SELECT r.n, r.instance, r.namespaces, r.cluster, " + count + " AS count FROM " + list +
			") p ON true LEFT JOIN LATERAL (SELECT " + shown + " FROM (SELECT p.instance, p.namespaces, p.cluster) r CROSS JOIN LATERAL (" + page(shown) + ") w) w ON true"
	} else {
		// It cannot join what depends on the part, and reads the IDs of each page first.
		rows = "(SELECT r.n, " + count + " AS count, (SELECT json_group_array(i.id) FROM (" + page("w.rowid AS id") + ") i) AS ids FROM " + list +
			") p ON true LEFT JOIN json_each(p.ids) e ON true LEFT JOIN kairship.pod w ON w.rowid = e.value"
	}
	return "SELECT " + s.podMoment(scoped) + ", p.n, p.count, " + s.podItem() + " FROM kairship.meta m LEFT JOIN " + rows + oneMeta + " ORDER BY p.n, " + by
}

// podsInPart are the pods in the part r, so that a condition can follow. Where some parts are of
// scopes, those are read by their places.
func (s *statement) podsInPart(q *PodQuery, scoped bool) string {
	fence, columns := " OFFSET 0", names("w.", podKey, podColumns)
	if !s.db.postgres {
		fence, columns = "", columns+", w.rowid AS rowid"
	}
	switch {
	case scoped:
	case s.db.postgres && q.Confined && q.searches():
		return "(SELECT " + columns + " FROM kairship.pod w WHERE w.instance = r.instance" + fence + ") w WHERE true"
	default:
		return "kairship.pod w WHERE w.instance = r.instance"
	}
	places := "SELECT DISTINCT x.namespace, e.value AS cluster FROM kairship.workload x CROSS JOIN " + s.elements("x.clusters") +
		" WHERE x.instance = r.instance AND x.namespace IN (SELECT value FROM json_each(r.namespaces))"
	of := "w.instance = r.instance AND w.namespace = k.namespace AND w.cluster = k.cluster"
	all := "SELECT " + columns + " FROM (" + places + ") k CROSS JOIN kairship.pod w WHERE " + of
	if s.db.postgres {
		places = "SELECT DISTINCT x.namespace, e.value AS cluster FROM unnest(r.namespaces) t(namespace) CROSS JOIN LATERAL (SELECT x.namespace, x.clusters FROM kairship.workload x WHERE x.instance = r.instance AND x.namespace = t.namespace OFFSET 0) x CROSS JOIN " +
			s.elements("x.clusters")
		all = "SELECT " + columns + " FROM (" + places + ") k CROSS JOIN LATERAL (SELECT " + columns + " FROM kairship.pod w WHERE " + of + fence + ") w"
	}
	return "(" + all + " UNION ALL SELECT " + columns + " FROM kairship.pod w WHERE r.namespaces IS NULL AND w.instance = r.instance) w WHERE true"
}
