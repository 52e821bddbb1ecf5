package projection

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ActivityWay is the way by which a change came.
type ActivityWay string

// The ways.
const (
	// ByGraphQL is a mutation.
	ByGraphQL ActivityWay = "GRAPHQL"
	// ByNativeAPI is the native API of an instance, such as with kubectl.
	ByNativeAPI ActivityWay = "NATIVE_API"
	// ByController is a controller of Kairship.
	ByController ActivityWay = "CONTROLLER"
)

// ActivityOutcome is what became of a change.
type ActivityOutcome string

// The outcomes.
const (
	// ActivitySucceeded means that the change was made.
	ActivitySucceeded ActivityOutcome = "SUCCEEDED"
	// ActivityRefused means that the user may not make it.
	ActivityRefused ActivityOutcome = "REFUSED"
	// ActivityFailed means that it was not made, or not as a whole, for another reason.
	ActivityFailed ActivityOutcome = "FAILED"
)

// ActivityVerb is what was done with an object.
type ActivityVerb string

// The verbs.
const (
	ActivityCreate ActivityVerb = "CREATE"
	ActivityUpdate ActivityVerb = "UPDATE"
	ActivityPatch  ActivityVerb = "PATCH"
	ActivityApply  ActivityVerb = "APPLY"
	ActivityDelete ActivityVerb = "DELETE"
)

// KindRoleBinding is the kind of roles on instances, which only those who manage access see.
const KindRoleBinding = "InstanceRoleBinding"

// Activity is a change that a user made through Kairship or tried to make, or that a controller of Kairship made. It names the object and has nothing of its
// content.
type Activity struct {
	// Instance is the name of the instance; empty for what belongs to none.
	Instance string `json:"instance"`
	Group    string `json:"grp"`
	// Kind is the kind of the object, or its plural where the kind is not known; empty where neither is.
	Kind string `json:"kind"`
	// Namespace is empty for objects without one. A Namespace is in itself.
	Namespace string `json:"namespace"`
	// Name is empty where it is not known: the native API does not name what is created in the path.
	Name string       `json:"name"`
	Verb ActivityVerb `json:"verb"`
	// Mutation is the name of the mutation; empty for the other ways.
	Mutation string      `json:"mutation"`
	Way      ActivityWay `json:"way"`
	// User sent the request, for As where that is not empty; "controller:" and its name for a controller.
	User    string          `json:"username"`
	As      string          `json:"acting_as"`
	Outcome ActivityOutcome `json:"outcome"`
	// Code says why it was not made: a code of Kairship's errors.
	Code string `json:"code"`
}

// activityColumns are those of the table activity, besides its number, its time and the UID of the instance.
var activityColumns = []column{
	{"instance", text}, {"grp", text}, {"kind", text}, {"namespace", text}, {"name", text}, {"verb", text}, {"mutation", text},
	{"way", text}, {"username", text}, {"acting_as", text}, {"outcome", text}, {"code", text},
}

// recordActivity is the function of PostgreSQL that adds an entry for a program that may only read the tables.
const recordActivity = "record_activity"

// insertActivity is the statement that adds the entries of its first parameter, in the instance of its second.
func (db *DB) insertActivity() string {
	return "INSERT INTO kairship.activity (" + names("", activityColumns) + ", instance_uid) SELECT " + names("r.", activityColumns) + ", $2 FROM " + db.rows(activityColumns)
}

// ActivityReach is what a caller may see. Instances are named by their UIDs, so that another one of the same name has an
// activity of its own. The zero value is nothing.
type ActivityReach struct {
	// Everything is of all instances, also of those that no longer exist, and what belongs to none.
	Everything bool
	// Wholes are the instances that are seen as a whole, EveryNamespace those without what has no namespace.
	Wholes, EveryNamespace []string
	// Namespaces are pairs of an instance and a namespace of it.
	Namespaces [][2]string
	// AllAccess is the right to see who got which role on every instance, Access that on some.
	AllAccess bool
	Access    []string
}

// ActivityQuery selects a page of the activity, the latest first. A list that is nil does not narrow.
type ActivityQuery struct {
	Reach ActivityReach

	Instances, Users, Kinds, Namespaces, Names []string
	Ways                                       []ActivityWay
	Outcomes                                   []ActivityOutcome
	// From and To are in seconds since 1970; the entries are at From or later, and before To. 0 does not narrow.
	From, To float64
	// Before is the number of the entry before which the page begins; 0 for the first page.
	Before int64
	// Limit is the size of the page.
	Limit int
	// WithCount asks for the number of entries on all pages.
	WithCount bool
}

// ActivityEntry is an entry with its number and its time.
type ActivityEntry struct {
	Activity

	ID          int64  `json:"id"`
	InstanceUID string `json:"instance_uid"`
	// At is when the database got it, in seconds since 1970.
	At float64 `json:"at"`
}

// ActivityPage is a page of the activity.
type ActivityPage struct {
	Entries []ActivityEntry
	// HasNext reports that older ones follow.
	HasNext bool
	// Count is the number of entries on all pages; nil if it was not asked for.
	Count *int64
}

// Activity reads a page, with one statement. Its error is ErrIncomplete where the table is not there yet.
func (db *DB) Activity(ctx context.Context, q *ActivityQuery) (*ActivityPage, error) {
	s := &statement{db: db}
	where := s.activityWhere(q)
	count := "0"
	if q.WithCount {
		count = "(SELECT count(*) FROM kairship.activity a WHERE " + where + ")"
	}
	position := ""
	if q.Before != 0 {
		position = " AND a.id < " + s.value(q.Before)
	}
	entry := slices.Concat(activityColumns, []column{{"instance_uid", text}, {"id", bigint}, {"at", double}})
	page := "SELECT " + names("a.", entry) + " FROM kairship.activity a WHERE " + where + position + " ORDER BY a.id DESC" + s.limit(q.Limit+1)
	statement := "SELECT c.total, p.id, " + db.object(of{"p", entry}) + " FROM (SELECT " + count + " AS total) c LEFT JOIN (" + page + ") p ON true ORDER BY p.id DESC"
	if s.err != nil {
		return nil, s.err
	}
	found := &ActivityPage{}
	err := db.query(ctx, db.sql, func(rows *sql.Rows) error {
		var total, id sql.NullInt64
		var raw []byte
		if err := rows.Scan(&total, &id, &raw); err != nil {
			return err
		}
		if q.WithCount {
			found.Count = &total.Int64
		}
		switch {
		case !id.Valid:
			return nil
		case len(found.Entries) == q.Limit:
			found.HasNext = true
			return nil
		}
		var e ActivityEntry
		err := json.Unmarshal(raw, &e)
		found.Entries = append(found.Entries, e)
		return err
	}, statement, s.values...)
	switch {
	case noTable(err):
		return nil, ErrIncomplete
	case err != nil:
		return nil, fmt.Errorf("reading the activity: %w", err)
	}
	return found, nil
}

// activityWhere are the conditions of a query, but for the place where the page begins.
func (s *statement) activityWhere(q *ActivityQuery) string {
	var all strings.Builder
	all.WriteString(s.activityReach(&q.Reach))
	for _, narrow := range []struct {
		column string
		values []string
	}{
		{"a.instance", q.Instances}, {"a.username", q.Users}, {"a.kind", q.Kinds}, {"a.namespace", q.Namespaces}, {"a.name", q.Names},
		{"a.way", texts(q.Ways)}, {"a.outcome", texts(q.Outcomes)},
	} {
		if narrow.values != nil {
			all.WriteString(" AND " + s.in(narrow.column, narrow.values))
		}
	}
	if q.From != 0 {
		all.WriteString(" AND a.at >= " + s.value(q.From))
	}
	if q.To != 0 {
		all.WriteString(" AND a.at < " + s.value(q.To))
	}
	return all.String()
}

// activityReach is the condition that a row is in reach.
func (s *statement) activityReach(r *ActivityReach) string {
	var parts []string
	if r.Everything {
		parts = append(parts, "true")
	}
	if len(r.Wholes) > 0 {
		parts = append(parts, s.in("a.instance_uid", r.Wholes))
	}
	if len(r.EveryNamespace) > 0 {
		parts = append(parts, "a.namespace <> '' AND "+s.in("a.instance_uid", r.EveryNamespace))
	}
	if len(r.Namespaces) > 0 {
		parts = append(parts, "(a.instance_uid, a.namespace) IN (SELECT p.a, p.b FROM "+s.pairs(r.Namespaces)+")")
	}
	if len(parts) == 0 {
		return "false"
	}
	condition := "(" + strings.Join(parts, " OR ") + ")"
	if r.AllAccess {
		return condition
	}
	const other = "a.kind <> '" + KindRoleBinding + "'"
	if len(r.Access) == 0 {
		return condition + " AND " + other
	}
	return condition + " AND (" + other + " OR " + s.in("a.instance_uid", r.Access) + ")"
}

// texts are values of a type of texts; nil of nil.
func texts[T ~string](values []T) []string {
	if values == nil {
		return nil
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
