package indextest

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// query is a request as SQL.
type query struct {
	// of is the type of a request to an endpoint of its own.
	of            *kind
	where         []string
	args          []any
	orderBy       string
	limit, offset int
	metadataOnly  bool
	withCount     bool
}

// parse reads the parameters of a request.
func parse(q url.Values, of *kind, takesSQL bool, database Database) (*query, error) {
	c := &query{of: of, metadataOnly: q.Get("onlyMetadata") == "true", withCount: q.Get("withRemainingCount") == "true"}
	if err := c.types(q); err != nil {
		return nil, err
	}
	for param, column := range map[string]string{"clusters": "cluster", "namespaces": "namespace", "names": "name"} {
		if text := strings.TrimSpace(q.Get(param)); text != "" {
			c.and(column+" IN ?", anySlice(strings.Split(text, ",")))
		}
	}
	if takesSQL {
		if err := c.sql(q, database); err != nil {
			return nil, err
		}
	}
	if err := c.labels(q.Get("labelSelector")); err != nil {
		return nil, err
	}
	if err := c.fields(q.Get("fieldSelector")); err != nil {
		return nil, err
	}
	if err := c.order(q.Get("orderby")); err != nil {
		return nil, err
	}
	// Both are numbers or nothing, as Clusterpedia reads them.
	c.limit, _ = strconv.Atoi(q.Get("limit"))
	c.offset, _ = strconv.Atoi(q.Get("continue"))
	return c, nil
}

// and adds a condition. A list among its arguments becomes a list in SQL.
func (c *query) and(text string, args ...any) {
	text, flat := expand(text, args)
	c.where = append(c.where, "("+text+")")
	c.args = append(c.args, flat...)
}

func (c *query) types(q url.Values) error {
	if c.of != nil {
		c.and(`"group" = ? AND version = ? AND resource = ?`, c.of.group, c.of.version, c.of.resource)
		return nil
	}
	if q.Get("groups") == "*" {
		return nil
	}
	if q.Get("resources") == "" {
		return refuse(http.StatusBadRequest, "url query - `groups` or `resources` is required")
	}
	var kinds []string
	var args []any
	for of := range strings.SplitSeq(q.Get("resources"), ",") {
		gvr := strings.Split(of, "/")
		if len(gvr) != 3 || gvr[2] == "" {
			return refuse(http.StatusBadRequest, "unexpected GroupVersionResource string: %v", of)
		}
		kinds = append(kinds, `("group" = ? AND version = ? AND resource = ?)`)
		args = append(args, gvr[0], gvr[1], gvr[2])
	}
	c.and(strings.Join(kinds, " OR "), args...)
	return nil
}

// labels adds the conditions of a label selector. Some labels are parameters in
// disguise; of these only the one that pkg/index uses is known here.
func (c *query) labels(text string) error {
	selector, err := labels.Parse(text)
	if err != nil {
		return refuse(http.StatusInternalServerError, "%s", err)
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch {
		case r.Key() == "internalstorage.clusterpedia.io/fuzzy-name":
			for _, name := range r.Values().List() {
				c.and("name LIKE ?", "%"+strings.TrimSpace(name)+"%")
			}
		case strings.Contains(r.Key(), "clusterpedia.io"):
			return refuse(http.StatusNotImplemented, "the label %s is not known to this index", r.Key())
		default:
			c.json([]string{"metadata", "labels", r.Key()}, r.Operator(), r.Values().List())
		}
	}
	return nil
}

// json adds a condition on a field, as Clusterpedia builds it.
func (c *query) json(path []string, op selection.Operator, values []string) {
	const field = "CAST(JSON_EXTRACT(object, ?) AS TEXT)"
	at := `$."` + strings.Join(path, `"."`) + `"`
	switch op {
	case selection.Exists:
		c.and(field+" IS NOT NULL", at)
	case selection.DoesNotExist:
		c.and(field+" IS NULL", at)
	case selection.Equals, selection.DoubleEquals, selection.In:
		c.and(field+" IN ?", at, anySlice(values))
	case selection.NotEquals, selection.NotIn:
		c.and(field+" IS NULL OR "+field+" NOT IN ?", at, at, anySlice(values))
	case selection.GreaterThan, selection.LessThan:
		// Passed over, as Clusterpedia does.
	}
}

// order reads orderby, whose columns reach the database as they are.
func (c *query) order(text string) error {
	if text == "" {
		return nil
	}
	for i, part := range strings.Split(text, ",") {
		words := strings.Split(strings.TrimSpace(part), " ")
		if len(words) > 2 || (len(words) == 2 && words[1] != "desc") {
			return refuse(http.StatusInternalServerError, "Invalid Query OrderBy")
		}
		if i > 0 {
			c.orderBy += ", "
		}
		c.orderBy += strings.Join(words, " ")
	}
	return nil
}

func (c *query) from() string {
	if len(c.where) == 0 {
		return " FROM resources"
	}
	return " FROM resources WHERE " + strings.Join(c.where, " AND ")
}

func (c *query) items(ctx context.Context, tx *sql.Tx) ([]json.RawMessage, error) {
	text := "SELECT object" + c.from() //nolint:gosec // A fake for tests; running the SQL it is sent is its purpose.
	if c.metadataOnly {
		text = `SELECT JSON_OBJECT('apiVersion', CASE "group" WHEN '' THEN version ELSE "group" || '/' || version END,
			'kind', kind, 'metadata', JSON(object->'$.metadata'))` + c.from()
	}
	if c.orderBy != "" {
		text += " ORDER BY " + c.orderBy
	}
	args := c.args
	if c.limit > 0 || c.offset > 0 {
		limit := c.limit
		if limit == 0 {
			limit = -1
		}
		text += " LIMIT ? OFFSET ?"
		args = append(slices.Clip(args), limit, c.offset)
	}
	rows, err := tx.QueryContext(ctx, text, args...) //nolint:gosec // See above.
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	items := []json.RawMessage{}
	for rows.Next() {
		var object string
		if err := rows.Scan(&object); err != nil {
			return nil, err
		}
		items = append(items, json.RawMessage(object))
	}
	return items, rows.Err()
}

func (c *query) count(ctx context.Context, tx *sql.Tx) (int, error) {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*)"+c.from(), c.args...).Scan(&n) //nolint:gosec // See above.
	return n, err
}
