package projection

import "strings"

// column is a column of a table, with its type in PostgreSQL. Its name is also that of
// the field in JSON: rows go to the database and come back as JSON, many at once.
type column struct{ name, kind string }

// The types of columns. SQLite stores lists and documents as JSON text.
const (
	text     = "text"
	integer  = "integer"
	bigint   = "bigint"
	boolean  = "boolean"
	list     = "text[]"
	document = "jsonb"
	double   = "double precision"
)

// workloadKey are the columns that name a workload.
var workloadKey = []column{{"instance", text}, {"namespace", text}, {"name", text}, {"kind", text}}

// workloadColumns are those of the table workload besides its key: what lists are
// filtered, ordered and counted by. The table is narrow, so that counting reads little.
var workloadColumns = []column{
	{"health", text}, {"uid", text}, {"resource_version", text}, {"created_at", bigint}, {"label_kv", list},
	{"clusters", list}, {"scheduled", list}, {"policy_namespace", text}, {"policy_name", text}, {"work_name", text}, {"projection", integer},
	{"ready", integer}, {"drifted", boolean},
}

// filterColumns are those of them that lists are filtered by, beside the key and the health.
var filterColumns = []column{{"label_kv", list}, {"scheduled", list}, {"policy_namespace", text}, {"policy_name", text}, {"drifted", boolean}}

// docColumns are those of the table workload_doc: what a page shows, read by the ID of
// the row in workload.
var docColumns = []column{
	{"labels", document}, {"images", list}, {"desired", integer}, {"updated", integer}, {"ready", integer}, {"available", integer},
	{"message", text}, {"suspended", boolean}, {"deleting", boolean}, {"placements", document}, {"binding_id", text},
}

// objectColumns are those of the table workload_object: the template as far as it is needed
// for anything but its manifest. It changes less often than the state.
var objectColumns = []column{{"object", document}}

// searchColumns are those of the table workload_search: what lists are searched in.
var searchColumns = []column{{"search", text}, {"image_keys", list}}

var (
	memberKey         = []column{{"instance", text}, {"name", text}}
	memberColumns     = []column{{"labels", document}, {"spec", document}, {"conditions", document}}
	collectionKey     = []column{{"cluster", text}}
	collectionColumns = []column{{"instance", text}, {"stale", boolean}}
	changeColumns     = []column{{"cluster", text}, {"grp", text}, {"resource", text}, {"namespace", text}, {"name", text}}
	resourceColumns   = append([]column{{"version", text}}, changeColumns...)
)

// definition is the column in CREATE TABLE. Columns that are added to a table later need
// a default for the rows that it has.
func (c column) definition(postgres bool) string {
	kind, none := c.kind, map[string]string{text: "''", integer: "0", bigint: "0", boolean: "false", list: "'{}'", document: "'null'", double: "0"}[c.kind]
	if !postgres {
		kind = map[string]string{text: "TEXT", integer: "INTEGER", bigint: "INTEGER", boolean: "INTEGER", list: "TEXT", document: "TEXT", double: "REAL"}[c.kind]
		if c.kind == list {
			none = "'[]'"
		}
	}
	return c.name + " " + kind + " NOT NULL DEFAULT " + none
}

// names lists columns, each after a prefix.
func names(prefix string, columns ...[]column) string {
	var all []string
	for _, some := range columns {
		for _, c := range some {
			all = append(all, prefix+c.name)
		}
	}
	return strings.Join(all, ", ")
}

// rows is the part of a FROM clause that makes rows r of the first parameter, a JSON list.
func (db *DB) rows(columns ...[]column) string {
	var all []string
	for _, some := range columns {
		for _, c := range some {
			switch {
			case db.postgres:
				all = append(all, c.name+" "+c.kind)
			case c.kind == list || c.kind == document:
				all = append(all, "value->'"+c.name+"' AS "+c.name)
			default:
				all = append(all, "value->>'"+c.name+"' AS "+c.name)
			}
		}
	}
	if db.postgres {
		return "jsonb_to_recordset($1::jsonb) AS r(" + strings.Join(all, ", ") + ")"
	}
	return "(SELECT " + strings.Join(all, ", ") + " FROM json_each($1)) AS r"
}

// of are the columns of a table that a statement knows by an alias.
type of struct {
	alias   string
	columns []column
}

// object is the expression that makes a JSON object of columns.
func (db *DB) object(tables ...of) string {
	var all []string
	for _, t := range tables {
		for _, c := range t.columns {
			value := t.alias + "." + c.name
			if db.postgres {
				all = append(all, "'"+c.name+"', "+value)
			} else {
				all = append(all, `"`+c.name+`":' || `+c.quoted(value))
			}
		}
	}
	if db.postgres {
		return "CAST(jsonb_build_object(" + strings.Join(all, ", ") + ") AS text)"
	}
	return "'{" + strings.Join(all, " || ',") + " || '}'"
}

// quoted is the expression of a column's value as JSON in SQLite, where lists and documents are stored
// as JSON: the function json_object would parse them.
func (c column) quoted(value string) string {
	switch c.kind {
	case text:
		return "json_quote(" + value + ")"
	case boolean:
		return "iif(" + value + ", 'true', 'false')"
	}
	return "coalesce(" + value + ", 'null')"
}

// upsert is the statement that stores rows of a JSON list: it inserts those that are new
// and changes those that differ.
func (db *DB) upsert(table string, key, columns []column) string {
	return "INSERT INTO kairship." + table + " AS t (" + names("", key, columns) + ") SELECT " + names("r.", key, columns) +
		" FROM " + db.rows(key, columns) + " WHERE true" + db.onConflict(key, columns)
}

// upsertBeside is the statement that stores columns of workloads in a table of its own, by
// the ID of the row in workload.
func (db *DB) upsertBeside(table string, columns []column) string {
	return "INSERT INTO kairship." + table + " AS t (id, " + names("", columns) + ") SELECT w.id, " + names("r.", columns) +
		" FROM " + db.rows(workloadKey, columns) + db.lookup("workload", "w", same("w", workloadKey)) + " WHERE true" + db.onConflict([]column{{"id", bigint}}, columns)
}

// lookup joins the rows of a table that satisfy a condition on the rows before it. PostgreSQL goes on with the plan
// that it made when the table was small, and would read all of it, for each batch of a rebuild: OFFSET 0 has it look
// the rows up.
func (db *DB) lookup(table, alias, condition string) string {
	if !db.postgres {
		return " CROSS JOIN kairship." + table + " " + alias + " ON " + condition
	}
	return " CROSS JOIN LATERAL (SELECT * FROM kairship." + table + " " + alias + " WHERE " + condition + " OFFSET 0) " + alias
}

// among is the condition that a column is one of what a statement selects. PostgreSQL makes the list once, and looks
// each up; see lookup.
func (db *DB) among(column, selected string) string {
	if db.postgres {
		return column + " = ANY(ARRAY(" + selected + "))"
	}
	return column + " IN (" + selected + ")"
}

// onConflict is the end of an INSERT into a table with the alias t.
func (db *DB) onConflict(key, columns []column) string {
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = c.name + " = excluded." + c.name
	}
	differs := " IS NOT "
	if db.postgres {
		differs = " IS DISTINCT FROM "
	}
	return " ON CONFLICT (" + names("", key) + ") DO UPDATE SET " + strings.Join(set, ", ") +
		" WHERE (" + names("t.", columns) + ")" + differs + "(" + names("excluded.", columns) + ")"
}

// contains is the condition that a list has the text of a parameter.
func (db *DB) contains(column, parameter string) string {
	if db.postgres {
		return column + " @> ARRAY[" + parameter + "::text]"
	}
	return "EXISTS (SELECT 1 FROM json_each(" + column + ") WHERE value = " + parameter + ")"
}
