package authz

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

type sessionKey struct{}

func sessionFrom(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// Unbound returns a context without a Session: a Resolver's answer holds for the moment and is not
// checked later. It is for the reads of a single event of a stream.
func Unbound(ctx context.Context) context.Context {
	if sessionFrom(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, sessionKey{}, (*Session)(nil))
}

// Session holds the answers that have to stay the same for one stream.
type Session struct {
	caller *caller // nil where nothing is checked
	cancel context.CancelCauseFunc
	// depends is guarded by the caller's lock.
	depends []*dependency
}

// dependency is an answer that has to stay the same. Streams with the same one
// share it, so that thousands of them cost one comparison.
type dependency struct {
	id        string
	instances []string
	// key identifies what may be read of the instances; seen counts those that are visible.
	key   string
	seen  int
	users int
}

// End ends the checks. It may be called more than once.
func (s *Session) End() {
	if s.caller != nil {
		s.caller.checker.end(s)
	}
	s.cancel(context.Canceled)
}

// Confirmed returns once a check has confirmed that the stream may go on: at once, unless the last
// confirmation is too old because the global cluster does not answer. The error is the cause of the
// end of ctx.
func (s *Session) Confirmed(ctx context.Context) error {
	if s.caller != nil {
		if err := s.caller.wait(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// depend records a Resolver's answer.
func (s *Session) depend(v *Visibility, instances []string) {
	if s == nil || s.caller == nil {
		return
	}
	names := slices.Compact(slices.Sorted(slices.Values(instances)))
	key, seen := v.readingKey(names)
	id := key + "\x00" + strings.Join(names, "\x00")
	c := s.caller
	c.mu.Lock()
	defer c.mu.Unlock()
	// A session that has ended records nothing.
	if _, stands := c.sessions[s]; !stands {
		return
	}
	d, ok := c.depends[id]
	if !ok {
		d = &dependency{id: id, instances: names, key: key, seen: seen}
		c.depends[id] = d
	}
	if !slices.Contains(s.depends, d) {
		d.users++
		s.depends = append(s.depends, d)
	}
}

// readingKey returns a key for what may be read of some instances, and counts those that are
// visible.
func (v *Visibility) readingKey(instances []string) (key string, seen int) {
	var b strings.Builder
	if v.All() {
		b.WriteString("all")
	}
	for _, name := range instances {
		g, visible := v.Instance(name)
		if visible {
			seen++
		}
		b.WriteByte(' ')
		b.WriteString(g.forReading().Key())
	}
	return b.String(), seen
}

// caller is a user with open streams.
type caller struct {
	checker     *SessionChecker
	key         callerKey
	credentials Credentials
	user        User
	wake        chan struct{}
	stop        context.CancelFunc
	// confirmed is when the last check that found nothing changed began, in nanoseconds since
	// begun.
	confirmed atomic.Int64
	begun     time.Time

	mu       sync.Mutex
	sessions map[*Session]struct{}
	depends  map[string]*dependency
	// renewed is closed at the next confirmation.
	renewed chan struct{}
	// over is set once the credentials have expired: no stream may begin with them,
	// even where their last review is still remembered.
	over *SessionEndedError
}

func newCaller(s *SessionChecker, key callerKey, credentials Credentials, u User) *caller {
	ctx, stop := context.WithCancel(context.Background())
	c := &caller{
		checker: s, key: key, credentials: credentials, user: u,
		wake: make(chan struct{}, 1), stop: stop, begun: time.Now(),
		sessions: map[*Session]struct{}{}, depends: map[string]*dependency{}, renewed: make(chan struct{}),
	}
	// The answers from the beginning of the stream may have been cached for seconds.
	c.wakeUp()
	go c.run(ctx)
	return c
}

func (c *caller) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// age is how long ago the caller was confirmed.
func (c *caller) age() time.Duration {
	return time.Since(c.begun) - time.Duration(c.confirmed.Load())
}

func (c *caller) wait(ctx context.Context) error {
	for c.age() > c.checker.HoldAfter {
		c.mu.Lock()
		renewed := c.renewed
		c.mu.Unlock()
		if c.age() <= c.checker.HoldAfter {
			break
		}
		select {
		case <-renewed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *caller) run(ctx context.Context) {
	if at := c.credentials.Expires(); !at.IsZero() {
		// A check may take long, and this does not wait for it.
		defer time.AfterFunc(time.Until(at), c.expire).Stop()
	}
	next := time.NewTimer(c.checker.Interval)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-next.C:
		}
		c.check(ctx)
		next.Reset(c.checker.Interval)
		select {
		case <-ctx.Done():
			return
		case <-time.After(leastRecheck):
		}
	}
}

// check checks the caller's identity and what they may read now.
func (c *caller) check(ctx context.Context) {
	select {
	case c.checker.slots <- struct{}{}:
		defer func() { <-c.checker.slots }()
	case <-ctx.Done():
		return
	}
	asked := time.Since(c.begun)
	u, err := c.checker.Recheck(ctx, c.credentials)
	switch {
	case apierror.Is(err, apierror.CodeUnauthenticated):
		c.endAll(EndCredentialsExpired, apierror.New(apierror.CodeUnauthenticated, "your token is no longer valid: connect again with a new one"))
		return
	case err != nil:
		c.undecided(err)
		return
	case u.identity() != c.key.user:
		c.endAll(EndPermissionsChanged, apierror.New(apierror.CodeForbidden, "your groups have changed: connect again"))
		return
	}
	depends := c.dependencies()
	var names []string
	for _, d := range depends {
		names = append(names, d.instances...)
	}
	slices.Sort(names)
	v, err := c.checker.Review(ctx, u, slices.Compact(names)...)
	switch {
	case apierror.Is(err, apierror.CodeForbidden):
		c.endAll(EndAccessRevoked, revoked())
		return
	case err != nil:
		c.undecided(err)
		return
	}
	c.compare(v, depends)
	c.confirm(asked)
}

func (c *caller) dependencies() []*dependency {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*dependency, 0, len(c.depends))
	for _, d := range c.depends {
		all = append(all, d)
	}
	return all
}

// compare ends the sessions whose dependencies have changed.
func (c *caller) compare(v *Visibility, depends []*dependency) {
	ended := map[*dependency]*SessionEndedError{}
	for _, d := range depends {
		key, seen := v.readingKey(d.instances)
		switch {
		case key == d.key:
		case seen < d.seen:
			ended[d] = &SessionEndedError{Kind: EndAccessRevoked, Err: revoked()}
		default:
			ended[d] = &SessionEndedError{Kind: EndPermissionsChanged, Err: apierror.New(apierror.CodeForbidden,
				"what you may read has changed: subscribe again to go on with what you may read now")}
		}
	}
	if len(ended) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sessions {
		for _, d := range s.depends {
			if end, ok := ended[d]; ok {
				s.cancel(end)
				break
			}
		}
	}
}

func revoked() *apierror.Error {
	return apierror.New(apierror.CodeForbidden, "you may no longer read what you subscribed to")
}

func (c *caller) confirm(asked time.Duration) {
	c.confirmed.Store(int64(asked))
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.renewed)
	c.renewed = make(chan struct{})
}

// undecided ends the streams once no check could be completed for GiveUpAfter.
func (c *caller) undecided(err error) {
	if c.age() > c.checker.GiveUpAfter {
		c.endAll(EndUndecided, apierror.Wrap(err, apierror.CodeTimeout,
			"the global cluster does not say whether you may go on reading; subscribe again later"))
	}
}

func (c *caller) expire() {
	c.mu.Lock()
	c.over = &SessionEndedError{Kind: EndCredentialsExpired, Caller: true, Err: apierror.New(apierror.CodeUnauthenticated, "your token has expired: connect again with a new one")}
	c.mu.Unlock()
	c.endAll(c.over.Kind, c.over.Err)
}

func (c *caller) endAll(kind EndKind, err *apierror.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sessions {
		s.cancel(&SessionEndedError{Kind: kind, Caller: true, Err: err})
	}
}
