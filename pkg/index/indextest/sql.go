package indextest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// sql adds the condition of a request that brings its own SQL.
func (c *query) sql(q url.Values, database Database) error {
	statement := q.Get("whereSQLStatement")
	var args []any
	if text := q.Get("whereSQLJSONParams"); text != "" {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, "whereSQLJSONParams: Invalid value: %q: failed to decode base64 string: %v", text, err)
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if err := dec.Decode(&args); err != nil {
			return refuse(http.StatusUnprocessableEntity, "whereSQLJSONParams: Invalid value: %q: failed to unmarshal: %v", text, err)
		}
	}
	if statement == "" {
		if len(args) > 0 {
			return refuse(http.StatusUnprocessableEntity, "whereSQLStatement: Required value: when whereSQLJSONParams was provided")
		}
		return nil
	}
	for function, of := range map[string]Database{"sqlite_version": SQLite, "pg_backend_pid": Postgres} {
		if strings.Contains(statement, function) {
			if of != database {
				return refuse(http.StatusInternalServerError, "no such function: %s", function)
			}
			statement = "1 = 0"
		}
	}
	if n := strings.Count(statement, "?"); n != len(args) {
		return refuse(http.StatusInternalServerError, "the statement has %d placeholders for %d parameters", n, len(args))
	}
	c.and(statement, args...)
	return nil
}

// expand writes lists into a condition as Clusterpedia's database library does:
// a list becomes a list in parentheses, a list of lists one of tuples, and right
// after an opening parenthesis the list's own parentheses are left out.
func expand(text string, args []any) (string, []any) {
	var b strings.Builder
	var flat []any
	next, open := 0, false
	for _, ch := range []byte(text) {
		if ch != '?' || next >= len(args) {
			open = ch == '('
			b.WriteByte(ch)
			continue
		}
		list, isList := args[next].([]any)
		switch {
		case isList && open && len(list) > 0:
			for i, v := range list {
				if i > 0 {
					b.WriteByte(',')
				}
				flat = write(&b, flat, v)
			}
		default:
			flat = write(&b, flat, args[next])
		}
		next++
	}
	return b.String(), flat
}

// write writes one parameter.
func write(b *strings.Builder, flat []any, v any) []any {
	list, isList := v.([]any)
	if !isList {
		b.WriteByte('?')
		return append(flat, scalar(v))
	}
	if len(list) == 0 {
		b.WriteString("(NULL)")
		return flat
	}
	b.WriteByte('(')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		flat = write(b, flat, v)
	}
	b.WriteByte(')')
	return flat
}

// scalar converts a number of JSON into one of the database.
func scalar(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return f
}

func anySlice(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}
