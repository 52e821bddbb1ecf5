package live

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Source is one resource of one cluster.
type Source struct {
	// Instance is the name of an instance; empty for the global cluster.
	Instance string
	// Resource is what is followed, in the version that objects are wanted in.
	Resource schema.GroupVersionResource
	// MetadataOnly asks the cluster for the metadata of the objects and nothing else.
	MetadataOnly bool
}

// String is for logs and errors.
func (s Source) String() string {
	var b strings.Builder
	b.WriteString(s.Resource.Resource)
	if s.Resource.Group != "" {
		b.WriteString("." + s.Resource.Group)
	}
	if s.Instance == "" {
		return b.String() + " of the global cluster"
	}
	return b.String() + " of instance " + s.Instance
}

// Key names an object of a source.
type Key struct {
	// Namespace is empty for objects without one.
	Namespace, Name string
}

// Filter says which objects of a source a subscriber follows. All parts must hold;
// the zero value is everything.
type Filter struct {
	// Namespaces and Names are the ones wanted; nil for all. A list that is empty and
	// not nil is for none: what a caller may see can be nothing.
	Namespaces, Names []string
	// Labels is nil for everything.
	Labels labels.Selector
	// Match decides what the other parts can't. It must depend on the object (its
	// joined value included) alone, may be called often and from any goroutine, and
	// must not block. Nil for everything.
	Match func(*Object) bool
}

// Interest is a source, and what a subscriber wants of it.
type Interest struct {
	Source Source
	// Join is set when each object comes with a value made of other sources' objects.
	Join   *Join
	Filter Filter
	// Scope says what the subscriber may see of the source. A cursor that was made with
	// another one begins the source with a GAP. It is not compared with the cursors of
	// other sources, so that one role that changes costs no more than its own instance.
	Scope string
}

// Subscription is what one subscriber follows.
type Subscription struct {
	// Interests name each Source at most once.
	Interests []Interest
	// Identity is what a cursor is good for: the kind of subscription, its filters and
	// its user, in any unambiguous text. Instances that come and go do not belong to it.
	Identity string
	// After is the cursor to go on from; empty to begin with what is there.
	After string
	// KnownWrites are the subscriber's own writes, which are delivered before SYNCED even if no
	// watch has received them. A source is not delivered before it is known at that version or a
	// later one; one that can't be read is treated like one that does not answer.
	KnownWrites []KnownWrite
	// Open keeps the stream open without any source, as it may begin without one, until Follow adds
	// some.
	Open bool
	// MaxPending is how many objects of one source may wait to be read before the
	// source starts again with a GAP; 0 for Options.MaxPending.
	MaxPending int
	// Wake, where it is set, is called whenever there may be something to read, which is
	// then read with Poll; Next is not for such a stream. It may be called with locks
	// held: it must not block, and must not call the stream.
	Wake func()
}

// Type is the type of an event.
type Type string

// The types of events.
const (
	// Added is an object that is there, or begins to match the filter.
	Added Type = "ADDED"
	// Modified is an object that changed.
	Modified Type = "MODIFIED"
	// Deleted is an object that was deleted, or no longer matches the filter.
	Deleted Type = "DELETED"
	// Synced means that everything that was there has been delivered. It comes once for the stream
	// (Source is zero), after all sources that answer; again after each GAP, and for a source that
	// is added later (Source is set).
	Synced Type = "SYNCED"
	// Gap means that changes of the source were lost. Drop its objects; the current ones follow.
	// Without a source it is about all sources: one that the cursor knows is followed no longer.
	Gap Type = "GAP"
	// Interrupted means that the source does not answer. The objects delivered before may be
	// outdated. Err is the reason.
	Interrupted Type = "INTERRUPTED"
	// Restored means that the source answers again, and all changes since have been delivered.
	Restored Type = "RESTORED"
	// Ended means that the source was removed for good. Its objects are delivered as DELETED
	// before. Err is the reason. A stream without sources ends with that error.
	Ended Type = "ENDED"
)

// Event is what a stream says.
type Event struct {
	Type Type
	// Source is what the event is about; zero for a Synced of the whole stream.
	Source Source
	// Object is the object as it is now or, when Deleted, as it was last; nil for events
	// about sources. It is shared: do not change it.
	Object *Object
	// Old is, for Modified and Deleted, the object as this subscriber knew it.
	Old *Object
	// Err says for a person why a source is Interrupted or Ended.
	Err error

	stream *Stream
}

// Errors that end a stream. Others are *apierror.Error: NOT_FOUND when all
// instances that were followed were removed, INVALID for a cursor of another subscription.
var (
	// errSlow is for a subscriber that did not read for Options.MaxSilence though there was something to read.
	errSlow = errors.New("the subscriber did not read for too long")
	// errStopped is for everybody when Kairship stops. Resume at another replica.
	errStopped = errors.New("the process is being stopped; resume with the last cursor")
	// errClosed is returned by reads of a stream that was closed.
	errClosed = errors.New("the stream is closed")
)
