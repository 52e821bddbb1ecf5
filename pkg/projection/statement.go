package projection

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// statement is a statement that grows, with its parameters.
type statement struct {
	db     *DB
	values []any
	// with are the definitions that it begins with.
	with []string
	err  error
}

// define gives what is selected a name, so that it is selected once however often it is used.
func (s *statement) define(name, selected string) string {
	s.with = append(s.with, name+" AS ("+selected+")")
	return name
}

// value adds a parameter, and returns its name.
func (s *statement) value(v any) string {
	s.values = append(s.values, v)
	return "$" + strconv.Itoa(len(s.values))
}

// limit is the LIMIT clause of n rows. SQLite looks at a plain parameter when it compiles a statement, and would compile it
// anew for every execution.
func (s *statement) limit(n int) string { return " LIMIT CAST(" + s.value(n) + " AS integer)" }

// json adds a parameter that is a list as JSON.
func (s *statement) json(list any) string {
	text, err := json.Marshal(list)
	s.err = errors.Join(s.err, err)
	return s.value(string(text))
}

// in is the condition that a column has one of some values. However many there are, they
// are one parameter.
func (s *statement) in(column string, values []string) string {
	if s.db.postgres {
		return column + " = ANY(" + s.value(values) + "::text[])"
	}
	return column + " IN (SELECT value FROM json_each(" + s.json(values) + "))"
}

// pairs are the rows p, with the columns a and b, of some pairs of values.
func (s *statement) pairs(pairs [][2]string) string {
	if s.db.postgres {
		first, second := make([]string, len(pairs)), make([]string, len(pairs))
		for i, pair := range pairs {
			first[i], second[i] = pair[0], pair[1]
		}
		return "unnest(" + s.value(first) + "::text[], " + s.value(second) + "::text[]) AS p(a, b)"
	}
	return "(SELECT value->>0 AS a, value->>1 AS b FROM json_each(" + s.json(pairs) + ")) p"
}

// where are the conditions of the query, without its reach and its position. Each begins
// with AND.
func (s *statement) where(q *Query) string {
	var all strings.Builder
	and := func(condition string) { all.WriteString(" AND " + condition) }
	switch {
	case q.Custom && len(q.Kinds) > 0:
		and("(" + customKinds + " OR " + s.in("w.kind", q.Kinds) + ")")
	case q.Custom:
		and(customKinds)
	case len(q.Kinds) > 0:
		and(s.in("w.kind", q.Kinds))
	}
	for _, c := range []struct {
		column string
		values []string
	}{{"w.namespace", q.Namespaces}, {"w.name", q.Names}, {"w.health", q.Health}} {
		switch {
		case len(c.values) == 0:
		case len(c.values) == 1 && c.column == "w.namespace" && !s.db.postgres:
			and(c.column + " = " + s.value(c.values[0])) // An index is read from a name in it on, see after.
		default:
			and(s.in(c.column, c.values))
		}
	}
	if len(q.Health) > 0 && !slices.Contains(q.Health, "HEALTHY") {
		// It follows from the condition above. The index of what is not healthy is used only
		// where a statement says so.
		and("w.health <> 'HEALTHY'")
	}
	if q.UID != "" {
		and("w.uid = " + s.value(q.UID))
	}
	if q.NameContains != "" {
		and("replace(w.name, " + s.value(q.NameContains) + ", '') <> w.name")
	}
	for _, label := range q.Labels {
		and(s.among("w.label_kv", []string{label}))
	}
	if q.Policy != nil {
		and("w.policy_namespace = " + s.value(q.Policy.Namespace) + " AND w.policy_name = " + s.value(q.Policy.Name))
	}
	if len(q.ScheduledTo) > 0 {
		and(s.among("w.scheduled", q.ScheduledTo))
	}
	if q.Drifted != nil {
		and(map[bool]string{true: "w.drifted", false: "NOT w.drifted"}[*q.Drifted]) // As the index of those that are.
	}
	switch {
	case len(q.Images)+len(q.Words) == 0:
	case q.confined():
		and("(SELECT " + s.found(q) + " FROM kairship.workload_search f WHERE f.id = w.id)")
	default:
		and(s.listed("w.id", "SELECT f.id FROM "+s.define("found", "SELECT f.id FROM kairship.workload_search f WHERE "+s.found(q))+" f"))
	}
	if q.Selector != nil {
		requirements, _ := q.Selector.Requirements()
		for i := range requirements {
			and(s.requirement(&requirements[i]))
		}
	}
	return all.String()
}

// from are the workloads that are in reach, so that a condition can follow. Where an index would
// be used that has also the rows that the caller must not learn of, PostgreSQL reads those in
// reach first: OFFSET 0 keeps it from another order. It reads each namespace separately, because it
// would read the whole table for several.
func (s *statement) from(q *Query, in *reach) string {
	if !s.db.postgres || !q.confined() || !q.searches() && len(q.Instances) > 0 {
		return "kairship.workload w WHERE " + in.condition
	}
	order := q.Order.Field
	if order == ByRelevance {
		order = ByName // The labels are among those that lists are filtered by.
	}
	columns := pageColumns(order, Show{}) + ", " + names("w.", filterColumns)
	read := func(condition string) string {
		return "(SELECT " + columns + " FROM kairship.workload w WHERE " + condition + " OFFSET 0) w"
	}
	if in.pairs == "" {
		return read(in.condition) + " WHERE true"
	}
	all := "SELECT " + columns + " FROM " + in.pairs + " CROSS JOIN LATERAL " + read("w.instance = p.a AND w.namespace = p.b")
	if in.instances != "" {
		all += " UNION ALL SELECT " + columns + " FROM " + read(in.instances)
	}
	return "(" + all + ") w WHERE true"
}

// confined reports whether there is something that the caller must not learn of.
func (q *Query) confined() bool { return q.Confined || len(q.Scopes) > 0 }

// searches reports whether workloads are selected by what indexes of all instances have.
func (q *Query) searches() bool {
	return len(q.Labels)+len(q.ScheduledTo)+len(q.Images)+len(q.Words) > 0 || q.UID != "" || q.Selector != nil || q.Drifted != nil
}

// listed is the condition that a column is one of the IDs that a statement selects. PostgreSQL
// makes the list once: it would look each row of a long list up, in the order of the page.
func (s *statement) listed(column, ids string) string {
	if s.db.postgres {
		return column + " = ANY(" + s.array(ids) + ")"
	}
	return column + " IN (" + ids + ")"
}

// found is the condition that a row f of workload_search is searched for.
func (s *statement) found(q *Query) string {
	var all []string
	if len(q.Images) > 0 {
		all = append(all, s.hasImage(q.Images, "f.image_keys", "f.search", func(condition string) string {
			return "EXISTS (SELECT 1 FROM kairship.workload_doc d, " + s.elements("d.images") + " WHERE d.id = f.id AND " + condition + ")"
		}))
	}
	for _, word := range q.Words {
		if s.db.postgres {
			all = append(all, "strpos(f.search, "+s.value(word)+") > 0")
		} else {
			all = append(all, "instr(f.search, "+s.value(word)+") > 0")
		}
	}
	return strings.Join(all, " AND ")
}

// reach is what a caller may see of a table w with instances and namespaces.
type reach struct {
	// condition holds for all of it.
	condition string
	// instances is the condition for that which is seen as a whole, pairs are the rows p with the
	// instance a and the namespace b of the rest; empty for none.
	instances, pairs string
}

// reach is that of the instances and scopes of the query.
func (s *statement) reach(q *Query) *reach {
	in := &reach{}
	var parts []string
	if len(q.Instances) > 0 {
		in.instances = s.in("w.instance", q.Instances)
		parts = append(parts, in.instances)
	}
	pairs := scopePairs(q.Instances, q.Scopes)
	if len(pairs) > 0 {
		in.pairs = s.pairs(pairs)
		parts = append(parts, "(w.instance, w.namespace) IN (SELECT p.a, p.b FROM "+in.pairs+")")
	}
	in.condition = "false"
	if len(parts) > 0 {
		in.condition = "(" + strings.Join(parts, " OR ") + ")"
	}
	return in
}

// scopePairs are the instances and namespaces of scopes, each once, that are not in whole instances.
func scopePairs(instances []string, scopes []Scope) [][2]string {
	var pairs [][2]string
	whole, seen := map[string]bool{}, map[[2]string]bool{}
	for _, instance := range instances {
		whole[instance] = true
	}
	for _, scope := range scopes {
		for _, namespace := range scope.Namespaces {
			if pair := [2]string{scope.Instance, namespace}; !whole[scope.Instance] && !seen[pair] {
				seen[pair] = true
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// inPart is the condition that a row is in the part r, of which some may be labelled.
func (s *statement) inPart(labelled bool) string {
	in, has := "w.namespace = ANY(r.namespaces)", "w.label_kv @> ARRAY[r.label]"
	if !s.db.postgres {
		in, has = "w.namespace IN (SELECT value FROM json_each(r.namespaces))", "EXISTS (SELECT 1 FROM json_each(w.label_kv) WHERE value = r.label)"
	}
	condition := "w.instance = r.instance AND (r.namespaces IS NULL OR " + in + ")"
	if labelled {
		condition += " AND (r.label = '' OR " + has + ")"
	}
	return condition
}

// parts are the parts of a list r, numbered from 0 in the column n.
func (s *statement) parts(list string) string {
	if s.db.postgres {
		return "(SELECT t.n - 1 AS n, x.* FROM jsonb_array_elements(" + list + "::jsonb) WITH ORDINALITY AS t(part, n), jsonb_to_record(t.part) AS x(instance text, namespaces text[], label text, cluster text)) r"
	}
	return "(SELECT key AS n, value->>'instance' AS instance, nullif(value->'namespaces', 'null') AS namespaces, value->>'label' AS label, value->>'cluster' AS cluster FROM json_each(" + list + ")) r"
}

// array is the expression of a list of the IDs that a statement selects.
func (s *statement) array(ids string) string {
	if s.db.postgres {
		return "ARRAY(" + ids + ")"
	}
	return "(SELECT json_group_array(id) FROM (" + ids + "))"
}

// among is the condition that a list of a row has one of some values.
func (s *statement) among(column string, values []string) string {
	if s.db.postgres {
		return column + " && " + s.value(values) + "::text[]"
	}
	return "EXISTS (SELECT 1 FROM " + s.elements(column) + " WHERE " + s.in("e.value", values) + ")"
}

// elements are the values of a list, as a table e with the column value.
func (s *statement) elements(column string) string {
	if s.db.postgres {
		return "unnest(" + column + ") AS e(value)"
	}
	return "json_each(" + column + ") AS e"
}

// requirement is the condition of a part of a label selector, with Kubernetes' meaning:
// != and notin select what lacks the label.
func (s *statement) requirement(r *labels.Requirement) string {
	var wanted []string
	for _, v := range r.Values().List() {
		wanted = append(wanted, r.Key()+"="+v)
	}
	key := r.Key() + "="
	exists := func() string {
		return "EXISTS (SELECT 1 FROM " + s.elements("w.label_kv") + " WHERE substr(e.value, 1, " + strconv.Itoa(len(key)) + ") = " + s.value(key) + ")"
	}
	switch r.Operator() {
	case selection.Exists:
		return exists()
	case selection.DoesNotExist:
		return "NOT " + exists()
	case selection.NotEquals, selection.NotIn:
		return "NOT " + s.among("w.label_kv", wanted)
	default: // >, < are refused where selectors are read.
		return s.among("w.label_kv", wanted)
	}
}

// order are the columns of an order. Bytes are compared, as the index does.
func (s *statement) order(field OrderField) []string {
	bytes := ""
	if s.db.postgres {
		bytes = ` COLLATE "C"`
	}
	namespace, name, rest := "w.namespace"+bytes, "w.name"+bytes, []string{"w.instance" + bytes, "w.kind" + bytes}
	switch field {
	case ByName, ByRelevance:
		return append([]string{name, namespace}, rest...)
	case ByCreation:
		return append([]string{"w.created_at", namespace, name}, rest...)
	case ByHealth:
		return append([]string{severity, namespace, name}, rest...)
	case ByReady:
		return append([]string{"w.ready", namespace, name}, rest...)
	case ByNamespace:
	}
	return append([]string{namespace, name}, rest...)
}

// relevance is the expression of how well a row w, of a table with names, UIDs and labels, fits a text
// that is searched for; the least fits best.
func (s *statement) relevance(text string) string {
	v := s.value(text)
	if s.db.postgres {
		v += "::text"
	}
	const name = "lower(w.name)"
	label := s.find("lower(substr(e.value, "+s.find("e.value", "'='")+" + 1))", v)
	return "(CASE WHEN w.uid = " + v + " THEN 0 WHEN " + name + " = " + v + " THEN 1 WHEN substr(" + name + ", 1, length(" + v + ")) = " + v + " THEN 2 WHEN " + s.find(name, v) + " > 0 THEN 3" +
		" WHEN EXISTS (SELECT 1 FROM " + s.elements("w.label_kv") + " WHERE " + label + " > 0) THEN 4 ELSE 5 END)"
}

// severity is the expression of the Severity of a row.
var severity = func() string {
	var text strings.Builder
	text.WriteString("(CASE w.health")
	for i, health := range severities {
		fmt.Fprintf(&text, " WHEN '%s' THEN %d", health, i)
	}
	return text.String() + " END)"
}()

// after is the condition that a row follows the query's position.
func (s *statement) after(q *Query, columns []string) string {
	if q.After == nil {
		return ""
	}
	p := q.After
	values := []any{p.Namespace, p.Name, p.Instance, p.Kind}
	switch q.Order.Field {
	case ByName:
		values[0], values[1] = values[1], values[0]
	case ByCreation:
		values = append([]any{p.CreatedAt}, values...)
	case ByHealth:
		values = append([]any{p.Severity}, values...)
	case ByReady:
		values = append([]any{p.Ready}, values...)
	case ByNamespace:
		if !s.db.postgres && slices.Equal(q.Namespaces, []string{p.Namespace}) {
			columns, values = columns[1:], values[1:] // All are in the namespace.
		}
	case ByRelevance:
	}
	return s.follows(columns, values, q.Order.Desc)
}

// follows is the condition that the columns of an order are after some values.
func (s *statement) follows(columns []string, values []any, desc bool) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = s.value(v)
	}
	comparison := " > "
	if desc {
		comparison = " < "
	}
	return " AND (" + strings.Join(columns, ", ") + ")" + comparison + "(" + strings.Join(names, ", ") + ")"
}
