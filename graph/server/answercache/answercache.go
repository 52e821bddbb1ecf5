// Package answercache shares answers among equal queries. Fifty dashboards of a team send
// the same query at about the same time: it is executed for the first of them, and the
// others are sent the same answer, if equal grants are all that it depends on (see
// sharing.Shared and keyOf).
package answercache

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/sharing"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// sharedFor is how long an answer is shared once it is there, and how long after its
// beginning an execution is waited for.
const sharedFor = time.Second

// Options say which answers equal queries share, and how much memory they take.
type Options struct {
	// Fields may be shared; see sharing.Shared.
	Fields sharing.Fields
	// Permissions returns the grants of callers; see authz.Resolver.
	Permissions access.Permissions
	// Bytes limits what is kept; zero for no sharing.
	Bytes int64
}

// Cache has the answers that are being made, and those of the last second.
type Cache struct {
	table       *sharing.Table
	permissions access.Permissions
	maxBytes    int64
	now         func() time.Time

	mu      sync.Mutex
	current map[operationKey]*evaluation
	// kept are the executions whose answers are kept, the oldest first.
	kept  *list.List
	bytes int64
}

// evaluation is the one execution for all callers of equal operations.
type evaluation struct {
	begun time.Time
	// done is closed when it is over. given is its answer, set before; nil where it must
	// not be shared.
	done  chan struct{}
	given *Answer
	// abandoned is set before done is closed, where the client went away.
	abandoned bool
	// kept is its place among those that are kept, and expires the end of that; nil and
	// zero while it is under way.
	kept    *list.Element
	key     operationKey
	expires time.Time
	size    int64
}

// New returns a cache for the operations of a schema; nil where nothing is shared.
func New(schema *ast.Schema, o Options, now func() time.Time) *Cache {
	if o.Bytes <= 0 || o.Permissions == nil {
		return nil
	}
	return &Cache{
		table: sharing.NewTable(schema, o.Fields), permissions: o.Permissions,
		maxBytes: o.Bytes, now: now, current: map[operationKey]*evaluation{}, kept: list.New(),
	}
}

// Of returns the answer to an operation: that of an equal one if it may be shared, else
// what run makes. Only the caller that executes it gets an error of it; all others run
// then for themselves.
func (c *Cache) Of(ctx context.Context, op *graphql.OperationContext, headers http.Header, run func(context.Context) (*Answer, error)) (given *Answer, shared bool, err error) {
	mayShare := c != nil && c.table.Allows(op.Operation) && !bringsMore(op, headers)
	for mayShare {
		grants, err := c.permissions.For(ctx)
		if err != nil {
			break // The execution says so in its own way.
		}
		asked, ok := keyOf(op, grants)
		if !ok {
			break
		}
		e, first := c.find(asked, noCache(op, headers))
		if first {
			requeststats.From(ctx).Look(requeststats.Answers, 0, 1)
			given, err = c.make(ctx, e, grants, run)
			return given, false, err
		}
		if given := c.await(ctx, e, grants); given != nil {
			requeststats.From(ctx).Look(requeststats.Answers, 1, 0)
			return given, true, nil
		}
		// If the client has disconnected, one of the waiting requests executes it next.
		mayShare = ctx.Err() == nil && e.abandoned
	}
	given, err = run(ctx)
	return given, false, err
}

// find returns the execution of an operation, and whether the caller is to make its answer.
func (c *Cache) find(asked operationKey, anew bool) (e *evaluation, first bool) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for oldest := c.kept.Front(); oldest != nil && !now.Before(oldest.Value.(*evaluation).expires); oldest = c.kept.Front() {
		c.remove(oldest.Value.(*evaluation))
	}
	if e, ok := c.current[asked]; ok {
		usable := now.Before(e.begun.Add(sharedFor))
		if e.kept != nil {
			usable = now.Before(e.expires)
		}
		if usable && !anew {
			return e, false
		}
		c.remove(e)
	}
	e = &evaluation{key: asked, begun: now, done: make(chan struct{})}
	c.current[asked] = e
	return e, true
}

// remove has an execution found no more. The caller holds the lock.
func (c *Cache) remove(e *evaluation) {
	if c.current[e.key] == e {
		delete(c.current, e.key)
	}
	if e.kept != nil {
		c.kept.Remove(e.kept)
		c.bytes -= e.size
		e.kept = nil
	}
}

// await waits for an answer. The grants are looked at again: they may have been taken
// away meanwhile.
func (c *Cache) await(ctx context.Context, e *evaluation, grants *authz.Visibility) *Answer {
	select {
	case <-e.done:
	case <-ctx.Done():
		return nil
	}
	if now, err := c.permissions.For(ctx); e.given == nil || err != nil || !grants.Same(now) {
		return nil
	}
	audit.From(ctx).Include(e.given.record)
	return e.given
}

// make runs an execution, and shares its answer where it has no errors and each of its
// reads saw the grants of its key.
func (c *Cache) make(ctx context.Context, e *evaluation, first *authz.Visibility, run func(context.Context) (*Answer, error)) (*Answer, error) {
	var shared *Answer
	expires := &expiry{}
	defer func() {
		e.abandoned = errors.Is(ctx.Err(), context.Canceled)
		c.finish(e, shared, expires.at())
	}()
	ctx, grants := authz.WithGrants(context.WithValue(ctx, expiryKey{}, expires), first)
	made, err := run(ctx)
	if err == nil && made.Response != nil && len(made.Response.Errors) == 0 && !made.Live && ctx.Err() == nil && !grants.Changed() {
		made.encode(audit.From(ctx))
		shared = made
	}
	return made, err
}

// finish keeps an answer, unless it was forgotten meanwhile.
func (c *Cache) finish(e *evaluation, given *Answer, expires time.Time) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e.given = given
	close(e.done)
	if c.current[e.key] != e {
		return
	}
	if given == nil || given.size() > c.maxBytes {
		c.remove(e)
		return
	}
	e.expires, e.size = now.Add(sharedFor), given.size()
	if !expires.IsZero() && expires.Before(e.expires) {
		e.expires = expires
	}
	e.kept = c.kept.PushBack(e)
	c.bytes += e.size
	for c.bytes > c.maxBytes {
		c.remove(c.kept.Front().Value.(*evaluation))
	}
}

// Forget has every operation executed anew: after a mutation, the next caller is to see
// what it did.
func (c *Cache) Forget() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.current)
	c.kept = list.New()
	c.bytes = 0
}
