package authz

import (
	"context"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// How a Sentry checks, unless it is told.
const (
	// DefaultRecheckInterval is the time between two checks of a caller.
	DefaultRecheckInterval = 2 * time.Second
	// DefaultHoldAfter is how old the last confirmation may be. It is longer than an
	// interval and a review together, so that a slow review holds nothing up.
	DefaultHoldAfter = 5 * time.Second
	// DefaultGiveUpAfter is how long nothing can be decided until streams end.
	DefaultGiveUpAfter = 30 * time.Second
)

const (
	// leastRecheck is the time between two checks of one caller, however often
	// roles change.
	leastRecheck = 250 * time.Millisecond
	// maxParallelRechecks bounds what all callers' checks ask of the global cluster at a time.
	maxParallelRechecks = 32
)

// Sentry keeps checking the callers of what goes on for long: that their
// credentials are still good, and that what they may read is still what it was.
// One caller costs two reviews in an interval, however many streams they have.
type Sentry struct {
	// Recheck returns who the credentials belong to now. Required.
	Recheck func(context.Context, Credentials) (User, error)
	// Review returns what a user may do now on some instances. Required.
	Review func(ctx context.Context, u User, instances ...string) (*Visibility, error)
	// Interval, HoldAfter and GiveUpAfter are as the defaults say; zero means the default.
	Interval, HoldAfter, GiveUpAfter time.Duration

	once    sync.Once
	slots   chan struct{}
	mu      sync.Mutex
	callers map[callerKey]*caller
}

// callerKey tells apart who is checked separately: two tokens of one user
// expire at different times.
type callerKey struct {
	user        identity
	credentials [32]byte
}

func (s *Sentry) init() {
	s.once.Do(func() {
		for _, d := range []struct {
			value *time.Duration
			or    time.Duration
		}{{&s.Interval, DefaultRecheckInterval}, {&s.HoldAfter, DefaultHoldAfter}, {&s.GiveUpAfter, DefaultGiveUpAfter}} {
			if *d.value <= 0 {
				*d.value = d.or
			}
		}
		s.slots = make(chan struct{}, maxParallelRechecks)
		s.callers = map[callerKey]*caller{}
	})
}

// Stand begins to check a caller who was authenticated just now. The context is
// cancelled, with a *LapseError as its cause, when what was true no longer is; and what
// a Resolver says with it is remembered as what has to stay true. Leave must be
// called in the end. A nil Sentry checks nothing.
func (s *Sentry) Stand(ctx context.Context, credentials Credentials, u User) (context.Context, *Standing) {
	ctx, cancel := context.WithCancelCause(ctx)
	standing := &Standing{cancel: cancel}
	if s == nil {
		return ctx, standing
	}
	s.init()
	key := callerKey{user: u.identity(), credentials: credentials.key()}
	s.mu.Lock()
	c, ok := s.callers[key]
	if !ok {
		c = newCaller(s, key, credentials, u)
		s.callers[key] = c
	}
	standing.caller = c
	c.mu.Lock()
	c.standings[standing] = struct{}{}
	if c.over != nil {
		cancel(c.over)
	}
	c.mu.Unlock()
	s.mu.Unlock()
	return context.WithValue(ctx, standingKey{}, standing), standing
}

// CheckNow checks all callers soon, for when roles changed.
func (s *Sentry) CheckNow() {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.callers {
		c.wakeUp()
	}
}

// Callers is how many callers are checked.
func (s *Sentry) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.callers)
}

// leave ends the checks of a caller whose last stream has gone.
func (s *Sentry) leave(standing *Standing) {
	c := standing.caller
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.standings, standing)
	for _, d := range standing.depends {
		d.users--
		if d.users == 0 {
			delete(c.depends, d.id)
		}
	}
	standing.depends = nil
	if len(c.standings) == 0 && s.callers[c.key] == c {
		delete(s.callers, c.key)
		c.stop()
	}
}

// LapseKind says what is no longer so.
type LapseKind string

// The kinds of a Lapse.
const (
	// LapseCredentials means that the token or certificate is no longer valid.
	LapseCredentials LapseKind = "TOKEN_EXPIRED"
	// LapseRevoked means that something may no longer be read at all.
	LapseRevoked LapseKind = "ACCESS_REVOKED"
	// LapseChanged means that more, less or something else may be read.
	LapseChanged LapseKind = "PERMISSIONS_CHANGED"
	// LapseUndecided means that it could not be decided for too long.
	LapseUndecided LapseKind = "UNDECIDED"
)

// LapseError is the cause of the end of a Standing's context.
type LapseError struct {
	Kind LapseKind
	// Caller is set where it is about the caller and so about all of their streams,
	// and not about what one of them carries.
	Caller bool
	// Err is for the caller.
	Err *apierror.Error
}

// Error implements error.
func (l *LapseError) Error() string { return l.Err.Error() }

// Unwrap gives the error for the caller.
func (l *LapseError) Unwrap() error { return l.Err }
