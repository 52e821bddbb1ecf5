package activity

import (
	"math"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Entry is a change that a user made or tried to make, or that a controller made.
type Entry struct {
	Way     projection.ActivityWay
	Verb    projection.ActivityVerb
	Outcome projection.ActivityOutcome
	entry   *projection.ActivityEntry
}

func newEntry(e *projection.ActivityEntry) *Entry {
	return &Entry{Way: e.Way, Verb: e.Verb, Outcome: e.Outcome, entry: e}
}

// At is when it was recorded.
func (e *Entry) At() time.Time {
	return time.UnixMicro(int64(math.Round(e.entry.At * microseconds))).UTC()
}

// User is the user who sent the request, or the controller.
func (e *Entry) User() string { return e.entry.User }

// ImpersonatedUser is the user for whom it was sent; nil for the one who sent it.
func (e *Entry) ImpersonatedUser() *string { return object.Optional(e.entry.As) }

// Mutation is the name of the mutation; nil for the other ways.
func (e *Entry) Mutation() *string { return object.Optional(e.entry.Mutation) }

// Code says why it was not made; nil where it was.
func (e *Entry) Code() *string { return object.Optional(e.entry.Code) }

// InstanceName is the instance; nil for what belongs to none.
func (e *Entry) InstanceName() *string { return object.Optional(e.entry.Instance) }

// Group is the API group of the kind; empty for Kubernetes' own, and where only a mutation's input names the object.
func (e *Entry) Group() string { return e.entry.Group }

// Kind is the kind of the object, or its plural; nil where neither is known.
func (e *Entry) Kind() *string { return object.Optional(e.entry.Kind) }

// Namespace is that of the object; nil for none.
func (e *Entry) Namespace() *string { return object.Optional(e.entry.Namespace) }

// Name is that of the object; nil where it is not known.
func (e *Entry) Name() *string { return object.Optional(e.entry.Name) }

// Connection is a page of the activity, the latest first.
type Connection = page.Connection[*Entry]

// Edge is an entry with its place in the list.
type Edge = page.Edge[*Entry]

// Filter narrows the activity. Fields are combined with AND, the values of one with OR; nil does not narrow.
type Filter struct {
	Instances, Users, Kinds, Namespaces, Names []string
	Ways                                       []projection.ActivityWay
	Outcomes                                   []projection.ActivityOutcome
	// From and To bound the time: at From or later, before To. Nil does not.
	From, To *time.Time
}

const microseconds = 1e6

// check finds a filter that cannot be answered.
func (f *Filter) check() error {
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		return apierror.Invalid("filter.to", "The range is empty: `to` must be later than `from`")
	}
	return nil
}

// query is the filter in the words of the projection.
func (f *Filter) query() projection.ActivityQuery {
	return projection.ActivityQuery{
		Instances: f.Instances, Users: f.Users, Kinds: f.Kinds, Namespaces: f.Namespaces, Names: f.Names, Ways: f.Ways, Outcomes: f.Outcomes,
		From: seconds(f.From), To: seconds(f.To),
	}
}

// matches reports whether the filter selects an entry.
func (f *Filter) matches(e *projection.ActivityEntry) bool {
	return in(f.Instances, e.Instance) && in(f.Users, e.User) && in(f.Kinds, e.Kind) && in(f.Namespaces, e.Namespace) && in(f.Names, e.Name) &&
		in(f.Ways, e.Way) && in(f.Outcomes, e.Outcome) && (f.From == nil || e.At >= seconds(f.From)) && (f.To == nil || e.At < seconds(f.To))
}

func in[T comparable](wanted []T, value T) bool {
	return wanted == nil || slices.Contains(wanted, value)
}

// seconds are those since 1970; 0 for nil.
func seconds(t *time.Time) float64 {
	if t == nil {
		return 0
	}
	return float64(t.UnixMicro()) / microseconds
}
