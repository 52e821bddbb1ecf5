package projection

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FacetField is what workloads can be counted by. The values are those of the GraphQL enum
// WorkloadFacetField.
type FacetField string

// The fields. A workload counts once for each of its clusters, labels and images.
const (
	FacetHealth    FacetField = "HEALTH"
	FacetInstance  FacetField = "INSTANCE"
	FacetKind      FacetField = "KIND"
	FacetNamespace FacetField = "NAMESPACE"
	// FacetCluster counts by the member clusters that workloads are scheduled to.
	FacetCluster FacetField = "CLUSTER"
	// FacetLabel counts by labels, as key=value.
	FacetLabel FacetField = "LABEL"
	// FacetImage counts by the images of the templates.
	FacetImage FacetField = "IMAGE"
)

// Facet is how many workloads have each value of a field.
type Facet struct {
	Field FacetField
	// Values are those with the most workloads, then by value.
	Values []FacetValue
	// TotalValues is how many values there are.
	TotalValues int
}

// FacetValue is how many workloads have a value.
type FacetValue struct {
	Value string
	Count int
}

// Counted are the facets of all workloads that a Query selects, at one moment.
type Counted struct {
	Moment

	Facets []Facet
}

// Facets counts the workloads of a query by fields, with at most so many values of each.
// Position, order and size of the query's page do not matter.
func (db *DB) Facets(ctx context.Context, q *Query, fields []FacetField, values int) (*Counted, error) {
	s := &statement{db: db}
	text, err := s.facets(q, fields, values)
	if err != nil {
		return nil, err
	}
	found := &Counted{Facets: make([]Facet, len(fields))}
	for i, field := range fields {
		found.Facets[i].Field = field
	}
	if err := s.readFacets(ctx, &found.Moment, text, found.Facets); err != nil {
		return nil, err
	}
	return found, nil
}

// readFacets reads the values of facets.
func (s *statement) readFacets(ctx context.Context, at *Moment, text string, facets []Facet) error {
	err := s.read(ctx, at, text, func(rows *sql.Rows, moment []any) error {
		var facet, n, total sql.NullInt64
		var value sql.NullString
		if err := rows.Scan(append(moment, &facet, &value, &n, &total)...); err != nil || !facet.Valid {
			return err
		}
		f := &facets[facet.Int64]
		f.Values, f.TotalValues = append(f.Values, FacetValue{value.String, int(n.Int64)}), int(total.Int64)
		return nil
	})
	for i := range facets {
		// The parts of a statement come in no order.
		slices.SortFunc(facets[i].Values, func(a, b FacetValue) int {
			if a.Count != b.Count {
				return b.Count - a.Count
			}
			return strings.Compare(a.Value, b.Value)
		})
	}
	return err
}

// facets is the statement that counts by fields.
func (s *statement) facets(q *Query, fields []FacetField, values int) (string, error) {
	reach, where, limit := s.reach(q), s.where(q), s.limit(values)
	parts := make([]string, len(fields))
	for i, field := range fields {
		from, value, ok := s.facet(field)
		if !ok {
			return "", fmt.Errorf("workloads cannot be counted by %q", field)
		}
		parts[i] = s.topValues(i, from, value, limit)
	}
	s.define("w", s.counted(q, fields, reach.condition+where, s.from(q, reach)+where))
	return "SELECT " + s.db.moment(q.since()) + ", f.facet, f.value, f.n, f.total FROM kairship.meta m LEFT JOIN (" + strings.Join(parts, " UNION ALL ") + ") f ON true" + oneMeta, nil
}

// topValues selects the values of a facet that most rows have, which stand for n each.
func (s *statement) topValues(facet int, from, value, limit string) string {
	bytes := ""
	if s.db.postgres {
		bytes = ` COLLATE "C"`
	}
	return "SELECT " + strconv.Itoa(facet) + " AS facet, h.value, h.n, h.total FROM (SELECT g.value, g.n, count(*) OVER () AS total FROM (SELECT " +
		value + " AS value, CAST(sum(w.n) AS bigint) AS n FROM " + from + " GROUP BY " + value + ") g ORDER BY g.n DESC, g.value" + bytes + limit + ") h"
}

// counted selects the columns that some fields are counted by, and the number n of workloads
// that a row stands for: a list of all workloads is long, and read for each of the fields.
// They are of the table tally, by a condition, or from the rows of workloads.
func (s *statement) counted(q *Query, fields []FacetField, where, from string) string {
	columns, plain := columnsOf(fields)
	list := strings.Join(columns, ", ")
	switch {
	case plain && q.tallied():
		return "SELECT " + list + ", sum(w.n) AS n FROM kairship.tally w WHERE w.n > 0 AND " + where + " GROUP BY " + list
	case plain:
		return "SELECT " + list + ", count(*) AS n FROM " + from + " GROUP BY " + list
	}
	return "SELECT " + strings.Join(append(columns, "w.id"), ", ") + ", 1 AS n FROM " + from
}

// columnsOf are the columns of the table workload that some fields are counted by. They are
// plain if each workload has one value of each field.
func columnsOf(fields []FacetField) (columns []string, plain bool) {
	plain = true
	for _, field := range fields {
		if column, ok := facetColumns[field]; ok && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		plain = plain && field != FacetCluster && field != FacetLabel && field != FacetImage
	}
	return columns, plain
}

// facetColumns are the columns of the table workload that fields are counted by.
var facetColumns = map[FacetField]string{
	FacetHealth: "w.health", FacetInstance: "w.instance", FacetKind: "w.kind", FacetNamespace: "w.namespace", FacetCluster: "w.scheduled", FacetLabel: "w.label_kv",
}

// facet is from which rows a field is counted, and its value in them.
func (s *statement) facet(field FacetField) (from, value string, ok bool) {
	switch field {
	case FacetHealth:
		return "w", "w.health", true
	case FacetInstance:
		return "w", "w.instance", true
	case FacetKind:
		return "w", "w.kind", true
	case FacetNamespace:
		return "w", "w.namespace", true
	case FacetCluster:
		return "w, " + s.elements("w.scheduled"), "e.value", true
	case FacetLabel:
		return "w, " + s.elements("w.label_kv"), "e.value", true
	case FacetImage:
		return "w JOIN kairship.workload_doc d ON d.id = w.id, " + s.elements("d.images"), "e.value", true
	}
	return "", "", false
}
