package authz

import (
	"context"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// How a SessionChecker checks, unless it is told.
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

// SessionChecker keeps checking the callers of what goes on for long: that their
// credentials are still good, and that what they may read is still what it was.
// One caller costs two reviews in an interval, however many streams they have.
type SessionChecker struct {
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

func (s *SessionChecker) init() {
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

// Begin begins to check a caller who was authenticated just now. The context is
// cancelled, with a *SessionEndedError as its cause, when what was true no longer is; and what
// a Resolver says with it is remembered as what has to stay true. Leave must be
// called in the end. A nil SessionChecker checks nothing.
func (s *SessionChecker) Begin(ctx context.Context, credentials Credentials, u User) (context.Context, *Session) {
	ctx, cancel := context.WithCancelCause(ctx)
	session := &Session{cancel: cancel}
	if s == nil {
		return ctx, session
	}
	s.init()
	key := callerKey{user: u.identity(), credentials: credentials.key()}
	s.mu.Lock()
	c, ok := s.callers[key]
	if !ok {
		c = newCaller(s, key, credentials, u)
		s.callers[key] = c
	}
	session.caller = c
	c.mu.Lock()
	c.sessions[session] = struct{}{}
	if c.over != nil {
		cancel(c.over)
	}
	c.mu.Unlock()
	s.mu.Unlock()
	return context.WithValue(ctx, sessionKey{}, session), session
}

// CheckNow checks all callers soon, for when roles changed.
func (s *SessionChecker) CheckNow() {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.callers {
		c.wakeUp()
	}
}

// Callers is how many callers are checked.
func (s *SessionChecker) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.callers)
}

// end ends the checks of a caller whose last stream has gone.
func (s *SessionChecker) end(session *Session) {
	c := session.caller
	s.mu.Lock()
	defer s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, session)
	for _, d := range session.depends {
		d.users--
		if d.users == 0 {
			delete(c.depends, d.id)
		}
	}
	session.depends = nil
	if len(c.sessions) == 0 && s.callers[c.key] == c {
		delete(s.callers, c.key)
		c.stop()
	}
}

// EndKind says what is no longer so.
type EndKind string

// The kinds of a Lapse.
const (
	// EndCredentialsExpired means that the token or certificate is no longer valid.
	EndCredentialsExpired EndKind = "TOKEN_EXPIRED"
	// EndAccessRevoked means that something may no longer be read at all.
	EndAccessRevoked EndKind = "ACCESS_REVOKED"
	// EndPermissionsChanged means that more, less or something else may be read.
	EndPermissionsChanged EndKind = "PERMISSIONS_CHANGED"
	// EndUndecided means that it could not be decided for too long.
	EndUndecided EndKind = "UNDECIDED"
)

// SessionEndedError is the cause of the end of a Session's context.
type SessionEndedError struct {
	Kind EndKind
	// Caller is set where it is about the caller and so about all of their streams,
	// and not about what one of them carries.
	Caller bool
	// Err is for the caller.
	Err *apierror.Error
}

// Error implements error.
func (l *SessionEndedError) Error() string { return l.Err.Error() }

// Unwrap gives the error for the caller.
func (l *SessionEndedError) Unwrap() error { return l.Err }
