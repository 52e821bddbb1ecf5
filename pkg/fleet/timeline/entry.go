package timeline

import (
	"math"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Entry is one thing that changed.
type Entry struct {
	At     time.Time
	Change projection.HistoryChange
	entry  *projection.HistoryEntry
}

func newEntry(e *projection.HistoryEntry) *Entry {
	return &Entry{At: moment(e.At), Change: e.Change, entry: e}
}

// ClusterName is the member cluster that it is about; nil for none.
func (e *Entry) ClusterName() *string { return object.Optional(e.entry.Cluster) }

// Field is the part of the object that changed; nil where the change itself names it.
func (e *Entry) Field() *string {
	if e.Change != projection.SpecChanged {
		return nil // Of a creation it is the object's UID.
	}
	return object.Optional(e.entry.Field)
}

// Before is what was; nil for nothing.
func (e *Entry) Before() *string { return object.Optional(e.entry.Before) }

// After is what is since then; nil for nothing.
func (e *Entry) After() *string { return object.Optional(e.entry.After) }

// Message says more for a person; nil where there is no more.
func (e *Entry) Message() *string { return object.Optional(e.entry.Message) }

// User is who changed it through Kairship; nil for what was observed.
func (e *Entry) User() *string { return object.Optional(e.entry.User) }

// Connection is a page of the history of one object, the latest first.
type Connection = page.Connection[*Entry]

// Edge is an entry with its place in the list.
type Edge = page.Edge[*Entry]

// Args say which part of a history to return.
type Args struct {
	page.Args

	Changes []projection.HistoryChange
	// WithCount asks for the number of entries on all pages.
	WithCount bool
	// Beside are the objects whose histories will be asked for with the same arguments: all are then read together.
	Beside []projection.ObjectKey
	// From and To bound the time of the entries: at From or later, before To. Nil does not.
	From, To *time.Time
}

// check finds arguments that cannot be answered.
func (a *Args) check() error {
	if a.From != nil && a.To != nil && !a.From.Before(*a.To) {
		return apierror.Invalid("to", "The range is empty: `to` must be later than `from`")
	}
	return nil
}

// seconds are those since 1970; 0 for nil.
func seconds(t *time.Time) float64 {
	if t == nil {
		return 0
	}
	return float64(t.UnixMicro()) / microseconds
}

const microseconds = 1e6

// moment is a time of the database.
func moment(seconds float64) time.Time {
	return time.UnixMicro(int64(math.Round(seconds * microseconds))).UTC()
}
