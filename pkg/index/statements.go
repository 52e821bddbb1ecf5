package index

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// sqlText is SQL that was written by us. Clusterpedia runs what it is sent, so
// this type is what keeps a caller's text out: it is unexported, every value of
// it is a constant in this file or is joined from such constants, and nothing
// converts a string to it (a test walks the source to see to that). Values travel as
// parameters, one for each question mark.
type sqlText string

// dialect is the SQL of one kind of database.
type dialect struct {
	name string
	// probe matches no row, and calls a function that no other database has.
	probe sqlText
	// createdColumn is the expression that orders by time of creation, and that a
	// cursor's time is compared with. It must hold no comma and no space, because
	// it is sent in the orderby parameter, which splits on both.
	createdColumn sqlText
	// fieldText is the text of the field at a path, which is the one parameter.
	fieldText sqlText
	// fieldPath makes fieldText's parameter.
	fieldPath func(path []string) any
	// createdParam makes the parameter that is compared with createdColumn.
	createdParam func(Position) any
}

// SQLite holds the time of creation as text in the zone of the process that
// wrote it, so it is turned into seconds before it is compared.
var sqliteDialect = &dialect{
	name:          "sqlite",
	probe:         "sqlite_version() IS NULL",
	createdColumn: "unixepoch(created_at)",
	fieldText:     "CAST(JSON_EXTRACT(object, ?) AS TEXT)",
	fieldPath: func(path []string) any {
		return `$."` + strings.Join(path, `"."`) + `"`
	},
	createdParam: func(p Position) any { return p.CreatedAt.Unix() },
}

var postgresDialect = &dialect{
	name:          "postgres",
	probe:         "pg_backend_pid() IS NULL",
	createdColumn: "created_at",
	fieldText:     "(object #>> CAST(? AS text[]))",
	fieldPath: func(path []string) any {
		quoted := make([]string, len(path))
		for i, step := range path {
			quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(step) + `"`
		}
		return "{" + strings.Join(quoted, ",") + "}"
	},
	createdParam: func(p Position) any { return p.CreatedAt.Format("2006-01-02 15:04:05-07:00") },
}

// The pieces that all dialects share.
const (
	sqlAnd   sqlText = " AND "
	sqlOr    sqlText = " OR "
	sqlOpen  sqlText = "("
	sqlClose sqlText = ")"
	sqlComma sqlText = ", "
	sqlDesc  sqlText = " DESC"

	sqlClusters     sqlText = "cluster IN ?"
	sqlNamespaces   sqlText = "namespace IN ?"
	sqlNames        sqlText = "name IN ?"
	sqlNameContains sqlText = "REPLACE(name, ?, '') <> name"
	sqlOwners       sqlText = "owner_uid IN ? AND owner_uid <> ''"
	sqlType         sqlText = `("group" = ? AND version = ? AND resource = ?)`

	sqlEquals    sqlText = " = ?"
	sqlIn        sqlText = " IN ?"
	sqlNotIn     sqlText = " NOT IN ?"
	sqlIsNull    sqlText = " IS NULL"
	sqlIsNotNull sqlText = " IS NOT NULL"

	sqlAfterAsc   sqlText = ") > ("
	sqlAfterDesc  sqlText = ") < ("
	sqlFourValues sqlText = "?, ?, ?, ?)"
	sqlFiveValues sqlText = "?, ?, ?, ?, ?)"

	// One page per part: rows are numbered within their part. The window needs
	// its own copy of the filters, which go between the two pieces.
	sqlPartsSelect  sqlText = "id IN (SELECT w.id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY cluster"
	sqlPartsOrder   sqlText = " ORDER BY "
	sqlPartsFilters sqlText = ") AS rn FROM resources WHERE "
	sqlPartsLimit   sqlText = ") w WHERE w.rn <= ?)"

	// The first rows of each type.
	sqlHeads     sqlText = "id IN ("
	sqlHead      sqlText = "SELECT id FROM (SELECT id FROM resources WHERE "
	sqlHeadLimit sqlText = " LIMIT ?) AS head"
	sqlUnion     sqlText = " UNION ALL "

	// The size of each part, encoded in which of its first rows are returned: the row of rank r
	// stands for bit r-1 of the size. See count.go.
	sqlSizesCount   sqlText = ") AS rn, COUNT(*) OVER (PARTITION BY cluster"
	sqlSizesSet     sqlText = ") w WHERE w.rn <= ? AND ((w.n >> CAST(w.rn - 1 AS integer)) & 1) = 1)"
	sqlSizesUnset   sqlText = ") w WHERE w.rn <= ? AND ((w.n >> CAST(w.rn - 1 AS integer)) & 1) = 0)"
	sqlSizesFilters sqlText = ") AS n FROM resources WHERE "

	// Exact objects of one type. Every column of the unique index is bound. The
	// detour over a SELECT has SQLite look each pair up in that index: with VALUES
	// alone it walks through all objects of the type.
	sqlExactType   sqlText = `("group" = ? AND version = ? AND resource = ? AND cluster = ?`
	sqlExactTypeIn sqlText = `("group" = ? AND version = ? AND resource = ? AND cluster IN ?`
	sqlAmong       sqlText = " AND (namespace, name) IN (SELECT CAST(column1 AS text), CAST(column2 AS text) FROM (VALUES "
	sqlAmongClose  sqlText = ") AS pairs)"
	sqlPair        sqlText = "(?, ?)"

	// What is in some scopes. Pairs instead of one condition for each cluster keep
	// the statement flat: databases bound how deep conditions may nest.
	sqlEveryNamespace sqlText = "(cluster IN ? AND namespace <> '')"
	sqlNamespacePairs sqlText = "(namespace <> '' AND (cluster, namespace) IN (VALUES "
	sqlNamePairs      sqlText = "(namespace = '' AND (cluster, name) IN (VALUES "
	sqlPairsClose     sqlText = "))"
	sqlNothing        sqlText = "1 = 0"

	// What some objects own, directly or through one object in between.
	sqlOwnedDirectly sqlText = "cluster IN ? AND owner_uid IN ?"
	sqlOwnedIndirect sqlText = "cluster IN ? AND (owner_uid IN ? OR owner_uid IN (SELECT m.uid FROM resources m WHERE m.cluster IN ? AND m.owner_uid IN ?))"
)

// Columns of the orders, after the one that gives the order its name.
const (
	colNamespace sqlText = "namespace"
	colName      sqlText = "name"
	colCluster   sqlText = "cluster"
	colKind      sqlText = "kind"
)

// clause is a condition and the values of its placeholders, in order.
type clause struct {
	text strings.Builder
	args []any
}

func (c *clause) add(text sqlText, args ...any) {
	c.text.WriteString(string(text))
	c.args = append(c.args, args...)
}

// and adds a condition, joined to those before it.
func (c *clause) and(text sqlText, args ...any) {
	if c.text.Len() > 0 {
		c.add(sqlAnd)
	}
	c.add(text, args...)
}

// encode makes the two URL parameters of the clause.
func (c *clause) encode() (statement, params string, err error) {
	raw, err := json.Marshal(c.args)
	if err != nil {
		return "", "", fmt.Errorf("encoding the parameters of an index query: %w", err)
	}
	return c.text.String(), base64.StdEncoding.EncodeToString(raw), nil
}

// columns lists what the order sorts by, its tie-breakers included.
func (d *dialect) columns(o Order) []sqlText {
	switch o.Field {
	case OrderByName:
		return []sqlText{colName, colNamespace, colCluster, colKind}
	case OrderByCreation:
		return []sqlText{d.createdColumn, colNamespace, colName, colCluster, colKind}
	case OrderByNamespace, OrderByHealth, OrderByReady, OrderByRestarts, OrderByRelevance: // All but the first need the projection.
	}
	return []sqlText{colNamespace, colName, colCluster, colKind}
}

// filters adds every condition of the query but its position.
func (d *dialect) filters(c *clause, q *ListQuery) {
	d.reach(c, q)
	if len(q.Namespaces) > 0 {
		c.and(sqlNamespaces, q.Namespaces)
	}
	if len(q.Names) > 0 {
		c.and(sqlNames, q.Names)
	}
	if q.NameContains != "" {
		c.and(sqlNameContains, q.NameContains)
	}
	if len(q.Owners) > 0 {
		c.and(sqlOwners, q.Owners)
	}
	for _, f := range q.Fields {
		text, args := d.field(f.Path)
		c.and(text, args...)
		c.add(sqlEquals, f.Value)
	}
	d.selector(c, q.Selector)
}

// namespaceField is the field that the column namespace holds, which is empty for objects
// without one.
var namespaceField = []string{"metadata", "namespace"}

// field is the text of a field, and its parameters.
func (d *dialect) field(path []string) (text sqlText, args []any) {
	if slices.Equal(path, namespaceField) {
		return colNamespace, nil
	}
	return d.fieldText, []any{d.fieldPath(path)}
}

// selector adds the conditions of a label selector, with Kubernetes' meaning:
// != and notin match objects that lack the label.
func (d *dialect) selector(c *clause, s labels.Selector) {
	if s == nil {
		return
	}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		path := d.fieldPath([]string{"metadata", "labels", r.Key()})
		values := r.Values().List()
		switch r.Operator() {
		case selection.Exists:
			c.and(d.fieldText, path)
			c.add(sqlIsNotNull)
		case selection.DoesNotExist:
			c.and(d.fieldText, path)
			c.add(sqlIsNull)
		case selection.Equals, selection.DoubleEquals, selection.In:
			c.and(d.fieldText, path)
			c.add(sqlIn, values)
		case selection.NotEquals, selection.NotIn:
			c.and(sqlOpen)
			c.add(d.fieldText, path)
			c.add(sqlIsNull)
			c.add(sqlOr)
			c.add(d.fieldText, path)
			c.add(sqlNotIn, values)
			c.add(sqlClose)
		case selection.GreaterThan, selection.LessThan:
			// Refused by ParseSelector: labels are text in the index.
		}
	}
}

// after adds the condition that a row follows the position.
func (d *dialect) after(c *clause, o Order, p *Position) {
	if p == nil {
		return
	}
	c.and(sqlOpen)
	for i, col := range d.columns(o) {
		if i > 0 {
			c.add(sqlComma)
		}
		c.add(col)
	}
	if o.Desc {
		c.add(sqlAfterDesc)
	} else {
		c.add(sqlAfterAsc)
	}
	switch o.Field {
	case OrderByName:
		c.add(sqlFourValues, p.Name, p.Namespace, p.Cluster, p.Kind)
	case OrderByCreation:
		c.add(sqlFiveValues, d.createdParam(*p), p.Namespace, p.Name, p.Cluster, p.Kind)
	case OrderByNamespace, OrderByHealth, OrderByReady, OrderByRestarts, OrderByRelevance:
		c.add(sqlFourValues, p.Namespace, p.Name, p.Cluster, p.Kind)
	}
}

// heads adds the condition that a row is among the first of its type that the
// query matches.
func (d *dialect) heads(c *clause, q *ListQuery, limit int) {
	c.and(sqlHeads)
	for i, t := range q.Types {
		if i > 0 {
			c.add(sqlUnion)
		}
		c.add(sqlHead)
		c.add(sqlType, t.Group, t.Version, t.Resource)
		d.filters(c, q)
		d.after(c, q.Order, q.After)
		c.add(sqlPartsOrder)
		d.orderColumns(c, q.Order)
		c.add(sqlHeadLimit, limit)
	}
	c.add(sqlClose)
}

// orderColumns adds the columns of an order.
func (d *dialect) orderColumns(c *clause, o Order) {
	for i, col := range d.columns(o) {
		if i > 0 {
			c.add(sqlComma)
		}
		c.add(col)
		if o.Desc {
			c.add(sqlDesc)
		}
	}
}

// parts adds the condition that a row is among the first of its part and
// follows the query's position.
func (d *dialect) parts(c *clause, q *ListQuery, values []string, limit int) {
	d.ranked(c, q)
	c.add(sqlPartsFilters)
	d.partFilters(c, q, values)
	d.after(c, q.Order, q.After)
	c.add(sqlPartsLimit, limit)
}

// sizes adds the condition that a row is among the first of its part and that
// the bit of the part's size which its rank stands for is set, or not set.
func (d *dialect) sizes(c *clause, q *ListQuery, values []string, set bool) {
	d.ranked(c, q)
	c.add(sqlSizesCount)
	d.partField(c, q)
	c.add(sqlSizesFilters)
	d.partFilters(c, q, values)
	if set {
		c.add(sqlSizesSet, sizeBits)
	} else {
		c.add(sqlSizesUnset, sizeBits)
	}
}

// ranked begins a condition on the rank of a row in its part.
func (d *dialect) ranked(c *clause, q *ListQuery) {
	c.and(sqlPartsSelect)
	d.partField(c, q)
	c.add(sqlPartsOrder)
	d.orderColumns(c, q.Order)
}

func (d *dialect) partField(c *clause, q *ListQuery) {
	if len(q.PartField) > 0 {
		text, args := d.field(q.PartField)
		c.add(sqlComma)
		c.add(text, args...)
	}
}

// partFilters repeats the conditions of the query inside the window.
func (d *dialect) partFilters(c *clause, q *ListQuery, values []string) {
	c.add(sqlOpen)
	for i, t := range q.Types {
		if i > 0 {
			c.add(sqlOr)
		}
		c.add(sqlType, t.Group, t.Version, t.Resource)
	}
	c.add(sqlClose)
	d.filters(c, q)
	if len(q.PartField) > 0 {
		text, args := d.field(q.PartField)
		c.and(text, args...)
		c.add(sqlIn, values)
	}
}

// exact adds the condition that a row is one of the pairs of one type in one cluster.
func (d *dialect) exact(c *clause, t Type, cluster string, pairs []pair) {
	if c.text.Len() > 0 {
		c.add(sqlOr)
	}
	c.add(sqlExactType, t.Group, t.Version, t.Resource, cluster)
	c.among(pairs)
	c.add(sqlClose)
}

// exactIn adds the condition that a row is one of the pairs of one type in one
// of some clusters.
func (d *dialect) exactIn(c *clause, t Type, clusters []string, pairs []pair) {
	c.add(sqlExactTypeIn, t.Group, t.Version, t.Resource, clusters)
	c.among(pairs)
	c.add(sqlClose)
}

// among adds the condition that a row is one of the pairs.
func (c *clause) among(pairs []pair) {
	c.add(sqlAmong)
	for i, p := range pairs {
		if i > 0 {
			c.add(sqlComma)
		}
		c.add(sqlPair, p.namespace, p.name)
	}
	c.add(sqlAmongClose)
}
