package projection

import (
	"context"
	"database/sql"
	"encoding/json"
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
	return planOf(ctx, s, s.page(q))
}

// PlanOfLag returns the plan by which SQLite reads how late the rows of workloads are, a step a line.
func PlanOfLag(ctx context.Context, db *DB) (string, error) {
	return planOf(ctx, &statement{db: db}, db.text("SELECT "+oldestChange))
}

// ExplainLag executes the same on PostgreSQL, and returns its plan as JSON.
func ExplainLag(ctx context.Context, db *DB) (plan []byte, err error) {
	err = db.sql.QueryRowContext(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT "+oldestChange).Scan(&plan)
	return plan, err
}

// ExplainObjects executes the statement that reads some objects on PostgreSQL, and returns its plan as JSON.
func ExplainObjects(ctx context.Context, db *DB, keys []ResourceKey) (plan []byte, err error) {
	rows, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	err = db.sql.QueryRowContext(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+db.objectsStatement(Metadata, "resources", "$1")+db.named(), string(rows)).Scan(&plan)
	return plan, err
}

// PlanOfPodPage does what PlanOfPage does with a page of pods.
func PlanOfPodPage(ctx context.Context, db *DB, q *PodQuery) (string, error) {
	s := &statement{db: db}
	return planOf(ctx, s, s.podPage(q))
}

func planOf(ctx context.Context, s *statement, text string) (string, error) {
	var plan strings.Builder
	err := s.db.query(ctx, s.db.sql, func(rows *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := rows.Scan(&id, &parent, &unused, &step)
		plan.WriteString(step + "\n")
		return err
	}, "EXPLAIN QUERY PLAN "+s.complete(text), s.values...)
	return plan.String(), err
}

// ExplainPods does what Explain does with the statements that read a page, parts and facets of pods.
func ExplainPods(ctx context.Context, db *DB, q *PodQuery, fields []PodFacetField) (map[string][]byte, error) {
	plans := map[string][]byte{}
	page, pages, facets := &statement{db: db}, &statement{db: db}, &statement{db: db}
	var parts []Part
	for _, instance := range q.Instances {
		parts = append(parts, Part{Instance: instance})
	}
	for _, scope := range q.Scopes {
		parts = append(parts, Part{Instance: scope.Instance, Namespaces: scope.Namespaces})
	}
	counting, err := facets.podFacets(q, fields, 10)
	if err != nil {
		return nil, err
	}
	for name, of := range map[string]struct {
		s    *statement
		text string
	}{"page": {page, page.podPage(q)}, "parts": {pages, pages.podPages(q, parts)}, "facets": {facets, counting}} {
		var plan []byte
		if err := db.sql.QueryRowContext(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+of.s.complete(of.text), of.s.values...).Scan(&plan); err != nil {
			return nil, err
		}
		plans[name] = plan
	}
	return plans, nil
}

// MaxCompiled is how many statements of SQLite stay compiled.
const MaxCompiled = maxCompiled

// Compiled is how many do.
func Compiled(db *DB) int { return len(db.compiled.byText) }

// Look executes a statement that many requests send, of which the answer is a number.
func Look(ctx context.Context, db *DB, statement string, args ...any) (n int, err error) {
	err = db.look(ctx, func(rows *sql.Rows) error { return rows.Scan(&n) }, statement, args...)
	return n, err
}
