package authz

import (
	"context"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// The defaults of a SessionChecker.
const (
	// DefaultRecheckInterval is the time between two checks of a caller.
	DefaultRecheckInterval = 2 * time.Second
	// defaultHoldAfter is how old the last confirmation may be. It is longer than an interval plus
	// a review, so that a slow review delays nothing.
	defaultHoldAfter = 5 * time.Second
	// DefaultGiveUpAfter is how long the checks may fail until the streams end.
	DefaultGiveUpAfter = 30 * time.Second
)

const (
	// leastRecheck is the time between two checks of one caller, however often
	// roles change.
	leastRecheck = 250 * time.Millisecond
	// maxParallelRechecks limits the checks of all callers that run at the same time.
	maxParallelRechecks = 32
)

// SessionChecker checks the callers of long-lived streams at an interval: that their credentials
// are still valid, and that they may still read the same. One caller costs two reviews in an
// interval, however many streams they have.
type SessionChecker struct {
	// Recheck returns the user that the credentials belong to now. Required.
	Recheck func(context.Context, Credentials) (User, error)
	// Review returns what a user may do now on some instances. Required.
	Review func(ctx context.Context, u User, instances ...string) (*Visibility, error)
	// Interval, HoldAfter and GiveUpAfter replace DefaultRecheckInterval, defaultHoldAfter and
	// DefaultGiveUpAfter unless they are zero.
	Interval, HoldAfter, GiveUpAfter time.Duration

	once    sync.Once
	slots   chan struct{}
	mu      sync.Mutex
	callers map[callerKey]*caller
}

// callerKey identifies callers that are checked separately: two tokens of one user expire at
// different times.
type callerKey struct {
	user        identity
	credentials [32]byte
}

func (s *SessionChecker) init() {
	s.once.Do(func() {
		for _, d := range []struct {
			value *time.Duration
			or    time.Duration
		}{{&s.Interval, DefaultRecheckInterval}, {&s.HoldAfter, defaultHoldAfter}, {&s.GiveUpAfter, DefaultGiveUpAfter}} {
			if *d.value <= 0 {
				*d.value = d.or
			}
		}
		s.slots = make(chan struct{}, maxParallelRechecks)
		s.callers = map[callerKey]*caller{}
	})
}

// Begin begins to check a caller who was authenticated just now. When a check fails it cancels the
// context, with a *SessionEndedError as the cause. A Resolver's answers under this context are
// recorded, and have to stay the same. The caller must call Session.End. A nil SessionChecker
// checks nothing.
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

// Callers returns the number of callers that are being checked.
func (s *SessionChecker) Callers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.callers)
}

// end removes a session, and ends the checks of its caller if it was the last one.
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

// EndKind is the reason why a session ended.
type EndKind string

// The kinds of a SessionEndedError.
const (
	// EndCredentialsExpired means that the token or certificate is no longer valid.
	EndCredentialsExpired EndKind = "TOKEN_EXPIRED"
	// EndAccessRevoked means that the caller may no longer read something at all.
	EndAccessRevoked EndKind = "ACCESS_REVOKED"
	// EndPermissionsChanged means that the caller may read more, less or something else.
	EndPermissionsChanged EndKind = "PERMISSIONS_CHANGED"
	// EndUndecided means that no check could be completed for too long.
	EndUndecided EndKind = "UNDECIDED"
)

// SessionEndedError is the cause of the end of a Session's context.
type SessionEndedError struct {
	Kind EndKind
	// Caller is true if all streams of the caller end, and false if only those end that depend on
	// what has changed.
	Caller bool
	// Err is for the caller.
	Err *apierror.Error
}

// Error implements error.
func (l *SessionEndedError) Error() string { return l.Err.Error() }

// Unwrap returns the error for the caller.
func (l *SessionEndedError) Unwrap() error { return l.Err }
