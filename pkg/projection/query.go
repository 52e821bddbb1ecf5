package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgconn"
	"k8s.io/apimachinery/pkg/labels"
)

// Query selects workloads. An empty list of values does not narrow, except that a Query
// without Instances and Scopes selects nothing.
type Query struct {
	// Instances are those to select from as a whole, Scopes those to select from in part.
	Instances []string
	Scopes    []Scope

	Kinds, Namespaces, Names, Health []string
	// Custom selects custom workloads of all kinds, and no others but those of Kinds.
	Custom bool
	// NameContains is a part of the name.
	NameContains string
	// Selector selects by labels; nil selects everything.
	Selector labels.Selector
	// Labels are labels that have to be there, as key=value.
	Labels []string
	// Policy is the policy that claimed the workloads; nil for any.
	Policy *Policy
	// ScheduledTo are member clusters; a workload is scheduled to one of them.
	ScheduledTo []string
	// Drifted selects workloads of which an object differs from what Karmada sent, or those of which none does;
	// nil selects both.
	Drifted *bool
	// Images are keys of images, beginnings of images with a * behind them, or digests; a workload has
	// one of them.
	Images []string
	// Words have to be in the text that is searched in, each somewhere.
	Words []string
	// UID is that of the workload; empty for any.
	UID string
	// Relevant is the text, in small letters, that ByRelevance orders by.
	Relevant string
	// Confined reports whether there are instances which the caller must not learn of, not even by
	// the time that an answer takes. Scopes say so too.
	Confined bool

	Order Order
	// After is the place after which the page begins; nil for the first page.
	After *Position
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of workloads on all pages.
	WithCount bool
	Show      Show
}

// Show says what is read of workloads beside their places.
type Show struct {
	// States asks for their states, Objects for the templates.
	States, Objects bool
	// Identities asks for what the narrow table workload has of the templates. With Objects, the templates of
	// custom workloads alone are read.
	Identities bool
}

// Scope is a part of an instance: some of its namespaces.
type Scope struct {
	Instance   string
	Namespaces []string
}

// Policy names a PropagationPolicy or, without namespace, a ClusterPropagationPolicy.
type Policy struct{ Namespace, Name string }

// OrderField is a column that lists are ordered by first.
type OrderField int

// The fields. The rest of the key follows each of them, so that an order is total.
const (
	ByNamespace OrderField = iota
	ByName
	ByCreation
	// ByHealth orders by Severity.
	ByHealth
	// ByReady orders by the number of ready replicas.
	ByReady
	// ByRelevance orders by where a row has the Relevant text, then by name. No page of it is followed.
	ByRelevance
)

// Order is the order of a list.
type Order struct {
	Field OrderField
	Desc  bool
}

// Position is the place of a workload in an ordered list.
type Position struct {
	WorkloadKey

	// CreatedAt is in seconds since 1970.
	CreatedAt int64
	// Severity is that of the health, see Severity.
	Severity int
	// Ready is the number of ready replicas.
	Ready int32
}

// severities are the states of health, the best first.
var severities = []string{"HEALTHY", "PROGRESSING", "UNMANAGED", "UNPROPAGATED", "UNSCHEDULED", "UNKNOWN", "DEGRADED"}

// Severity is the place of a state of health in their order, from HEALTHY to DEGRADED.
func Severity(health string) int { return slices.Index(severities, health) }

// Item is a workload as the projection has it.
type Item struct {
	Position

	// State is nil if it was not asked for.
	State *State
	// Object is the template, as workload.Object reads it; nil if it was not asked for.
	Object []byte
	// Identity is nil if it was not asked for.
	Identity *Identity
}

// Identity is what is known of a template without reading it.
type Identity struct {
	UID             string
	ResourceVersion string
	Labels          map[string]string
}

// Selection is a page of the workloads that a Query selects.
type Selection struct {
	Moment

	Items []Item
	// HasNext reports that more follow.
	HasNext bool
	// Count is the number of workloads on all pages; nil if it was not asked for.
	Count *int64
}

// Moment says when something was read. Times are the database's, in seconds since 1970.
type Moment struct {
	Now float64
	// Pending is the time of the oldest change which was not in the projection then; 0
	// when all were.
	Pending float64
}

// Lag is the age of the oldest change that was not in the projection.
func (m Moment) Lag() time.Duration {
	if m.Pending == 0 {
		return 0
	}
	return max(0, time.Duration((m.Now-m.Pending)*float64(time.Second)))
}

// ErrIncomplete means that rows are missing, because the projection is being built.
var ErrIncomplete = errors.New("the projection is not complete")

// Select reads a page of workloads, with one statement and so of one moment.
func (db *DB) Select(ctx context.Context, q *Query) (*Selection, error) {
	s := &statement{db: db}
	text := s.page(q)
	found := &Selection{}
	err := s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var one scanned
		if err := rows.Scan(append(append(moment, &found.Count), one.columns()...)...); err != nil {
			return err
		}
		return found.add(&one)
	})
	if err != nil {
		return nil, err
	}
	found.cut(q.Limit)
	return found, nil
}

// page is the statement that reads a page.
func (s *statement) page(q *Query) string {
	columns := s.order(q.Order.Field)
	if q.Order.Field == ByRelevance {
		columns = append([]string{s.relevance(q.Relevant)}, columns...)
	}
	by := ordered(columns, q.Order.Desc)
	reach := s.reach(q)
	ahead := s.ahead(q)
	count, where := "NULL", ""
	if ahead == q || q.WithCount {
		where = s.where(q)
		count = q.count(q.tallied(), reach.condition+where, s.from(q, reach)+where)
	}
	if ahead != q {
		where = s.where(ahead)
	}
	rows := s.rows(ahead, reach, where, columns)
	return "SELECT " + s.db.moment(q.since()) + ", " + count + ", " + s.item(q.Show) + " FROM kairship.meta m LEFT JOIN (" + rows + ") w ON true" + q.Show.beside() + oneMeta + " ORDER BY " + by
}

// rows are the rows w of a page in the order of some columns.
func (s *statement) rows(q *Query, reach *reach, where string, columns []string) string {
	from := s.from(q, reach) + where
	if !s.db.postgres && where == "" && !q.confined() {
		// SQLite would read everything in reach by an index of instances, and sort it. It uses no index for
		// an expression that begins with +, and so reads the index of the order as far as the page goes.
		from = "kairship.workload w WHERE +(" + reach.condition + ")"
	}
	return "SELECT " + pageColumns(q.Order.Field, q.Show) + " FROM " + from + s.after(q, columns) + " ORDER BY " + ordered(columns, q.Order.Desc) + s.limit(q.Limit+1)
}

// ahead is the query without the namespaces that its position is behind. SQLite would read the index of the order from
// the beginning of the first namespace, and from a position only in a single one (BenchmarkSelect); PostgreSQL reads it from
// the position.
func (s *statement) ahead(q *Query) *Query {
	if s.db.postgres || q.After == nil || q.Order.Field != ByNamespace || len(q.Images)+len(q.Words) > 0 {
		return q
	}
	behind := func(namespace string) bool {
		return namespace != q.After.Namespace && (namespace < q.After.Namespace) != q.Order.Desc
	}
	left := slices.DeleteFunc(slices.Clone(q.Namespaces), behind)
	if len(left) == 0 || len(left) == len(q.Namespaces) {
		return q
	}
	narrow := *q
	narrow.Namespaces = left
	return &narrow
}

// Part is a part of a list.
type Part struct {
	Instance string `json:"instance"`
	// Namespaces are those that the part has; nil for all.
	Namespaces []string `json:"namespaces"`
	// Label is a label that the workloads of the part have, as key=value; empty for any.
	Label string `json:"label"`
	// Cluster is the member cluster that the pods of the part are in; empty for any. Either all parts of a list have
	// one, or none has.
	Cluster string `json:"cluster"`
}

// SelectParts reads the same page of several parts, with one statement. The query's own
// Instances and Scopes are ignored.
func (db *DB) SelectParts(ctx context.Context, q *Query, parts []Part) ([]Selection, Moment, error) {
	if len(parts) == 1 {
		page, err := db.Select(ctx, q.within(&parts[0]))
		if err != nil {
			return nil, Moment{}, err
		}
		return []Selection{*page}, page.Moment, nil
	}
	s := &statement{db: db}
	text := s.pages(q, parts)
	found := make([]Selection, len(parts))
	var at Moment
	err := s.read(ctx, &at, text, func(rows *sql.Rows, moment []any) error {
		var one scanned
		var n sql.NullInt64
		var count *int64
		if err := rows.Scan(append(append(moment, &n, &count), one.columns()...)...); err != nil || !n.Valid {
			return err
		}
		of := &found[n.Int64]
		of.Count = count
		return of.add(&one)
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

// within is the query of one part, which costs a third less than as a list of parts (BenchmarkSelect).
func (q *Query) within(part *Part) *Query {
	narrow := *q
	narrow.Instances, narrow.Scopes = []string{part.Instance}, nil
	if part.Namespaces != nil {
		narrow.Instances, narrow.Scopes = nil, []Scope{{part.Instance, part.Namespaces}}
	}
	if part.Label != "" {
		narrow.Labels = append(slices.Clone(q.Labels), part.Label)
	}
	return &narrow
}

// pages is the statement that reads the same page of several parts.
func (s *statement) pages(q *Query, parts []Part) string {
	list := s.json(parts)
	labelled := slices.ContainsFunc(parts, func(p Part) bool { return p.Label != "" })
	confined := *q
	q = &confined
	q.Confined = q.Confined || slices.ContainsFunc(parts, func(p Part) bool { return p.Namespaces != nil })
	reach, where := &reach{condition: s.inPart(labelled)}, s.where(q)
	from := s.from(q, reach) + where
	columns := s.order(q.Order.Field)
	count := q.count(q.tallied() && !labelled, reach.condition+where, from)
	by := ordered(columns, q.Order.Desc)
	ids := s.array("SELECT w.id FROM " + from + s.after(q, columns) + " ORDER BY " + by + s.limit(q.Limit+1))
	return "SELECT " + s.db.moment(q.since()) + ", p.n, p.count, " + s.item(q.Show) + " FROM kairship.meta m LEFT JOIN (SELECT r.n, " + count + " AS count, " + ids + " AS ids FROM " +
		s.parts(list) + ") p ON true LEFT JOIN " + s.elements("p.ids") + " ON true LEFT JOIN kairship.workload w ON w.id = e.value" + q.Show.beside() + oneMeta + " ORDER BY p.n, " + by
}

// Find reads some workloads with one statement. Those that there are not are missing, and
// the others are in no order.
func (db *DB) Find(ctx context.Context, keys []WorkloadKey, show Show) (*Selection, error) {
	s := &statement{db: db}
	s.json(keys) // The parameter that rows reads.
	version := earliest
	if slices.ContainsFunc(keys, func(k WorkloadKey) bool { return isCustom(k.Kind) }) {
		version = sinceCustom
	}
	text := "SELECT " + db.moment(version) + ", " + s.item(show) + " FROM kairship.meta m LEFT JOIN (SELECT " + pageColumns(ByNamespace, show) + " FROM " + db.rows(workloadKey) +
		db.lookup("workload", "w", same("w", workloadKey)) + ") w ON true" + show.beside() + oneMeta
	found := &Selection{Items: make([]Item, 0, len(keys))}
	return found, s.read(ctx, &found.Moment, text, func(rows *sql.Rows, moment []any) error {
		var one scanned
		if err := rows.Scan(append(moment, one.columns()...)...); err != nil {
			return err
		}
		return found.add(&one)
	})
}

// pageColumns are the columns of the table workload of which a page in some order is made, beside
// those of other tables.
func pageColumns(order OrderField, show Show) string {
	columns := "w.id, w.created_at, " + names("w.", workloadKey, stateColumns)
	switch order {
	case ByReady:
		columns += ", w.ready"
	case ByNamespace, ByName, ByCreation, ByHealth, ByRelevance:
	}
	if show.Identities || order == ByRelevance {
		columns += ", w.label_kv"
	}
	return columns
}

// beside joins the other tables that are shown to the rows w of a page.
func (show Show) beside() string {
	joins := ""
	if show.States {
		joins += " LEFT JOIN kairship.workload_doc d ON d.id = w.id"
	}
	if show.Objects {
		joins += " LEFT JOIN kairship.workload_object o ON o.id = w.id"
	}
	return joins
}

// oneMeta names the only row of the table meta m. PostgreSQL knows by its key that it is one;
// it would expect a thousand, multiply the costs, and compile the statement for longer than it runs.
const oneMeta = " WHERE m.id = 1"

// item are the columns of an Item.
func (s *statement) item(show Show) string {
	state, object := []of{{"w", workloadKey}}, "NULL"
	switch {
	case show.States:
		state = append(state, of{"w", stateColumns}, of{"d", stateDocColumns})
	case show.Identities:
		state = append(state, of{"w", versionColumns})
	}
	if show.Identities {
		state = append(state, of{"w", labelColumns})
	}
	if show.Objects {
		object = "CAST(o.object AS text)"
		if show.Identities {
			object = "CASE WHEN " + customKinds + " THEN " + object + " END"
		}
	}
	return "w.created_at, " + s.db.object(state...) + ", " + object
}

// scanned is an Item as it comes from the database. There is none where created is NULL.
type scanned struct {
	created       sql.NullInt64
	state, object []byte
}

func (c *scanned) columns() []any { return []any{&c.created, &c.state, &c.object} }

func (found *Selection) add(one *scanned) error {
	if !one.created.Valid {
		return nil
	}
	item := Item{Object: one.object}
	var row struct {
		State

		LabelKV []string `json:"label_kv"`
	}
	if err := jsonv2.Unmarshal(one.state, &row); err != nil {
		return fmt.Errorf("reading the state of a workload: %w", err)
	}
	state := &row.State
	item.Position = Position{WorkloadKey: state.WorkloadKey, CreatedAt: one.created.Int64}
	if state.Health != "" {
		item.State, item.Severity, item.Ready = state, Severity(state.Health), state.Ready
	}
	if row.LabelKV != nil {
		item.Identity = &Identity{UID: state.UID, ResourceVersion: state.ResourceVersion, Labels: labelsOf(row.LabelKV)}
	}
	found.Items = append(found.Items, item)
	return nil
}

// cut takes the page out of what was read: one more than the page holds.
func (found *Selection) cut(limit int) {
	if len(found.Items) > limit {
		found.Items, found.HasNext = found.Items[:limit], true
	}
}

// ordered is an ORDER BY clause.
func ordered(columns []string, desc bool) string {
	direction := ""
	if desc {
		direction = " DESC"
	}
	return strings.Join(columns, direction+", ") + direction
}

// moment are the first columns of a statement that reads from the table meta as m, and needs rows of
// at least a version. Rows that are only computed again make it no later.
func (db *DB) moment(version int) string {
	return "m.state = '" + Complete + "' AND m.version >= " + strconv.Itoa(version) + ", " + db.now() + ", coalesce(" + oldestChange + ", 0)"
}

// complete is a statement with the definitions that it begins with.
func (s *statement) complete(text string) string {
	if len(s.with) == 0 {
		return text
	}
	return "WITH " + strings.Join(s.with, ", ") + " " + text
}

// read executes a statement whose first columns are those of moment, and calls scan for
// each row with where they go. It is an ErrIncomplete when rows may be missing.
func (s *statement) read(ctx context.Context, at *Moment, text string, scan func(rows *sql.Rows, moment []any) error) error {
	if s.err != nil {
		return s.err
	}
	var complete bool
	err := s.db.look(ctx, func(rows *sql.Rows) error {
		return scan(rows, []any{&complete, &at.Now, &at.Pending})
	}, s.complete(text), s.values...)
	switch {
	case noTable(err):
		return ErrIncomplete
	case err != nil:
		return fmt.Errorf("reading the projection: %w", err)
	case !complete:
		return ErrIncomplete
	}
	return nil
}

// noTable reports whether a statement failed because the tables, or the columns, functions and
// indexes of this release, do not exist yet.
func noTable(err error) bool {
	if err == nil {
		return false
	}
	const undefinedTable, undefinedColumn, undefinedFunction, noSchema = "42P01", "42703", "42883", "3F000"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains([]string{undefinedTable, undefinedColumn, undefinedFunction, noSchema}, refused.Code)
	}
	return slices.ContainsFunc([]string{"no such table", "no such column", "no such index"}, func(text string) bool { return strings.Contains(err.Error(), text) })
}
