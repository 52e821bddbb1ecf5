package projection

import (
	"context"
	"database/sql"
	"strings"
)

// Explain executes the statements that read a page, parts and facets, and returns PostgreSQL's plan
// of each as JSON, with the rows that each of its nodes read.
func Explain(ctx context.Context, db *DB, q *Query, parts []Part, fields []FacetField) (plans map[string][]byte, err error) {
	plans = map[string][]byte{}
	explain := func(name string, s *statement, text string) {
		var plan []byte
		if err == nil {
			err = db.sql.QueryRowContext(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+s.complete(text), s.values...).Scan(&plan)
		}
		plans[name] = plan
	}
	s := &statement{db: db}
	explain("page", s, s.page(q))
	if len(parts) > 0 {
		s = &statement{db: db}
		explain("parts", s, s.pages(q, parts))
	}
	s = &statement{db: db}
	text, failed := s.facets(q, fields, 10)
	if failed != nil {
		return nil, failed
	}
	explain("facets", s, text)
	return plans, err
}

// PlanOfPage returns the plan by which SQLite reads a page, a step a line.
func PlanOfPage(ctx context.Context, db *DB, q *Query) (string, error) {
	s := &statement{db: db}
	var plan strings.Builder
	err := db.query(ctx, db.sql, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		plan.WriteString(step + "\n")
		return err
	}, "EXPLAIN QUERY PLAN "+s.complete(s.page(q)), s.values...)
	return plan.String(), err
}
