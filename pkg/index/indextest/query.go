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
)

// query is a request as SQL.
type query struct {
	// of is the type of a request to an endpoint of its own.
	of           *kind
	where        []string
	args         []any
	orderBy      string
	limit        int
	metadataOnly bool
	withCount    bool
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
	for _, unknown := range []string{"labelSelector", "fieldSelector", "continue"} {
		if q.Has(unknown) {
			return nil, refuse(http.StatusNotImplemented, "the parameter %s is not known to this index", unknown)
		}
	}
	if err := c.order(q.Get("orderby")); err != nil {
		return nil, err
	}
	// A number or nothing, as Clusterpedia reads it.
	c.limit, _ = strconv.Atoi(q.Get("limit"))
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
	if c.limit > 0 {
		text += " LIMIT ?"
		args = append(slices.Clip(args), c.limit)
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
