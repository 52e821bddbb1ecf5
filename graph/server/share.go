package server

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/sharing"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// Fifty dashboards of a team send the same query at about the same time. It is executed
// for the first of them, and the others are sent the same answer, if equal grants are all
// that it depends on: see sharing.Shared and askedBy.

// sharedFor is how long an answer is shared once it is there, and how long after its
// beginning an execution is waited for.
const sharedFor = time.Second

// SharedAnswers says which answers equal queries share, and how much memory they take.
type SharedAnswers struct {
	// Fields may be shared; see sharing.Shared.
	Fields sharing.Fields
	// Permissions tells the grants of callers; see authz.Resolver.
	Permissions access.Permissions
	// Bytes limits what is kept; zero for no sharing.
	Bytes int64
}

// answers are those that are being made, and those of the last second.
type answers struct {
	table       *sharing.Table
	permissions access.Permissions
	maxBytes    int64
	now         func() time.Time

	mu      sync.Mutex
	current map[question]*evaluation
	// kept are the executions whose answers are kept, the oldest first.
	kept  *list.List
	bytes int64
}

// evaluation is the one execution for all who ask a question.
type evaluation struct {
	begun time.Time
	// done is closed when it is over. given is its answer, set before; nil where it must
	// not be shared.
	done  chan struct{}
	given *answer
	// abandoned is set before done is closed, where the client went away.
	abandoned bool
	// kept is its place among those that are kept, and expires the end of that; nil and
	// zero while it is under way.
	kept     *list.Element
	question question
	expires  time.Time
	size     int64
}

// newAnswers returns nil where nothing is shared.
func newAnswers(cfg Config) *answers {
	if cfg.Shared.Bytes <= 0 || cfg.Shared.Permissions == nil {
		return nil
	}
	return &answers{
		table: sharing.NewTable(cfg.Schema.Schema(), cfg.Shared.Fields), permissions: cfg.Shared.Permissions,
		maxBytes: cfg.Shared.Bytes, now: cfg.Now, current: map[question]*evaluation{}, kept: list.New(),
	}
}

// of returns the answer to an operation: that of an equal one if it may be shared, else
// what run makes. Only the caller that executes it gets an error of it; all others run
// then for themselves.
func (s *answers) of(ctx context.Context, op *graphql.OperationContext, headers http.Header, run func(context.Context) (*answer, error)) (given *answer, shared bool, err error) {
	mayShare := s != nil && s.table.Allows(op.Operation) && !bringsMore(op, headers)
	for mayShare {
		grants, err := s.permissions.For(ctx)
		if err != nil {
			break // The execution says so in its own way.
		}
		asked, ok := askedBy(op, grants)
		if !ok {
			break
		}
		e, first := s.find(asked, noCache(op, headers))
		if first {
			requeststats.From(ctx).Look(requeststats.Answers, 0, 1)
			given, err = s.make(ctx, e, grants, run)
			return given, false, err
		}
		if given := s.await(ctx, e, grants); given != nil {
			requeststats.From(ctx).Look(requeststats.Answers, 1, 0)
			return given, true, nil
		}
		// Where its client went away, one of those who wait is the next to execute it.
		mayShare = ctx.Err() == nil && e.abandoned
	}
	given, err = run(ctx)
	return given, false, err
}

// find returns the execution of a question, and whether the caller is to make its answer.
func (s *answers) find(asked question, anew bool) (e *evaluation, first bool) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for oldest := s.kept.Front(); oldest != nil && !now.Before(oldest.Value.(*evaluation).expires); oldest = s.kept.Front() {
		s.remove(oldest.Value.(*evaluation))
	}
	if e, ok := s.current[asked]; ok {
		usable := now.Before(e.begun.Add(sharedFor))
		if e.kept != nil {
			usable = now.Before(e.expires)
		}
		if usable && !anew {
			return e, false
		}
		s.remove(e)
	}
	e = &evaluation{question: asked, begun: now, done: make(chan struct{})}
	s.current[asked] = e
	return e, true
}

// remove has an execution found no more. The caller holds the lock.
func (s *answers) remove(e *evaluation) {
	if s.current[e.question] == e {
		delete(s.current, e.question)
	}
	if e.kept != nil {
		s.kept.Remove(e.kept)
		s.bytes -= e.size
		e.kept = nil
	}
}

// await waits for an answer. The grants are looked at again: they may have been taken
// away meanwhile.
func (s *answers) await(ctx context.Context, e *evaluation, grants *authz.Visibility) *answer {
	select {
	case <-e.done:
	case <-ctx.Done():
		return nil
	}
	if now, err := s.permissions.For(ctx); e.given == nil || err != nil || !grants.Same(now) {
		return nil
	}
	audit.From(ctx).Include(e.given.record)
	return e.given
}

// make runs an execution, and shares its answer where it has no errors and each of its
// reads saw the grants of the question.
func (s *answers) make(ctx context.Context, e *evaluation, first *authz.Visibility, run func(context.Context) (*answer, error)) (*answer, error) {
	var shared *answer
	expires := &expiry{}
	defer func() {
		e.abandoned = errors.Is(ctx.Err(), context.Canceled)
		s.finish(e, shared, expires.at())
	}()
	ctx, grants := authz.WithGrants(context.WithValue(ctx, expiryKey{}, expires), first)
	made, err := run(ctx)
	if err == nil && made.resp != nil && len(made.resp.Errors) == 0 && !made.live && ctx.Err() == nil && !grants.Changed() {
		made.encode(audit.From(ctx))
		shared = made
	}
	return made, err
}

// finish keeps an answer, unless it was forgotten meanwhile.
func (s *answers) finish(e *evaluation, given *answer, expires time.Time) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.given = given
	close(e.done)
	if s.current[e.question] != e {
		return
	}
	if given == nil || given.size() > s.maxBytes {
		s.remove(e)
		return
	}
	e.expires, e.size = now.Add(sharedFor), given.size()
	if !expires.IsZero() && expires.Before(e.expires) {
		e.expires = expires
	}
	e.kept = s.kept.PushBack(e)
	s.bytes += e.size
	for s.bytes > s.maxBytes {
		s.remove(s.kept.Front().Value.(*evaluation))
	}
}

// forget has every question executed anew: after a mutation, the next caller is to see
// what it did.
func (s *answers) forget() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.current)
	s.kept = list.New()
	s.bytes = 0
}
