package server

import (
	"context"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
)

// running is a subscription under way. What follows changes drives it: it has a
// goroutine only while there is something to send, because most subscriptions are
// silent nearly always. The events of other resolvers are waited for in one.
type running struct {
	subscription
	streams  *streams
	request  *request
	standing *authz.Session
	// ctx is the stream's, own that of its resolver, and event that of single events.
	// The events of which everybody is told the same are resolved in the last, which has
	// no user.
	ctx, own, event, same context.Context //nolint:containedctx // They live as long as it does.
	// stop ends the contexts and gives back the place.
	stop      []func()
	responses graphql.ResponseHandler
	ids       eventIDs
	// choice stands for what is selected; empty where what it is told is no other user's.
	choice choice
	out    outcome
	over   func(outcome)
	// counter counts events.
	counter prometheus.Counter
	// ended: over was called, or is about to be.
	ended bool

	// turn is what is going on: see the constants.
	turn atomic.Int32
	// turns is nil for a resolver that has a goroutine of its own. It is set before the
	// first turn.
	turns  changes.Turns
	untold bool
}

var _ stream.Driver = (*running)(nil)

// What a subscription is doing.
const (
	resting = iota
	working
	// wanted: it is working, and was woken since it began.
	wanted
)

// Wake implements changes.Driver.
func (r *running) Wake() {
	for {
		switch {
		case r.turn.CompareAndSwap(resting, working):
			r.streams.crew.add(r)
			return
		case r.turn.Load() == wanted, r.turn.CompareAndSwap(working, wanted):
			return
		}
	}
}

// Drive implements changes.Driver.
func (r *running) Drive(_ context.Context, t changes.Turns) { r.turns = t }

// Untold implements stream.Driver.
func (r *running) Untold() { r.untold = true }

// work sends what is pending, and rests until there is more.
func (r *running) work() {
	defer func() {
		if v := recover(); v != nil && !r.ended {
			r.end(&endError{reason: reasonFailed, err: recoverPanic(r.ctx, v)})
		}
	}()
	for {
		if end := r.send(); end != nil {
			r.end(end)
			return
		}
		if r.turn.CompareAndSwap(working, resting) {
			return
		}
		r.turn.Store(working)
	}
}

// send sends events until there is none, or no more; it returns why then.
func (r *running) send() *endError {
	for {
		if r.ctx.Err() != nil {
			return endingOf(r.ctx)
		}
		if r.turns != nil && !r.turns.Pull(r.own) {
			return nil
		}
		resp, id := r.next()
		if r.untold {
			r.untold = false
			continue
		}
		switch {
		case r.ctx.Err() != nil:
			// An event that is ready now may be one that may no longer be seen.
			return endingOf(r.ctx)
		case resp == nil && r.own.Err() != nil:
			return endingOf(r.own)
		case resp == nil && r.streams.isStopping():
			// What it reads from may have ended before it was told to.
			return errDraining
		case resp == nil:
			return errCompleted
		}
		if r.standing.Confirmed(r.ctx) != nil {
			return endingOf(r.ctx)
		}
		if end := r.subscription.out.next(resp, id); end != nil {
			return end
		}
		if r.out.events == 0 {
			// What goes on from here is for as long as the client likes.
			r.request.noteResult(resp.Data)
			r.request.span.End()
		}
		r.out.events++
		r.counter.Inc()
	}
}

// next is the next result, with its id; nil when there are no more.
func (r *running) next() (*graphql.Response, string) {
	if r.turns != nil {
		if same, ok := r.turns.Same(); ok && r.choice != (choice{}) {
			return r.shared(same)
		}
		return r.resolve()
	}
	resp := r.responses(r.event)
	if resp == nil {
		return nil, ""
	}
	return resp, r.ids.of(resp.Data)
}

// resolve is the result of the event that was pulled, for this subscriber alone.
func (r *running) resolve() (*graphql.Response, string) {
	if r.turns.Pass(r.own) == changes.LeftOut {
		r.untold = true
		return nil, ""
	}
	resp := r.responses(r.event)
	if resp == nil {
		return nil, ""
	}
	return resp, r.ids.of(resp.Data)
}

// shared is a result that others are told too, but for the cursor. The first caller
// has it made, without their user and with nothing to read: what needs either fails,
// and is no result of which everybody is told the same.
func (r *running) shared(same changes.Same) (*graphql.Response, string) {
	key := resultKey{r.choice, same}
	cursor := ""
	if r.ids.cursor != "" {
		cursor = r.turns.Cursor()
	}
	if known, ok := r.streams.results.find(key); ok {
		return &graphql.Response{Data: known.with(cursor)}, cursor
	}
	if r.turns.Pass(r.own) == changes.LeftOut {
		r.untold = true
		return nil, ""
	}
	resp := r.responses(r.same)
	if resp != nil && len(resp.Errors) == 0 && len(resp.Extensions) == 0 {
		if made, ok := r.ids.split(resp.Data); ok {
			r.streams.results.keep(key, made)
			return resp, cursor
		}
	}
	r.choice = choice{}
	if resp == nil || r.ctx.Err() != nil {
		return nil, ""
	}
	return r.resolve()
}

// end ends the subscription. It is called once, by the goroutine that works.
func (r *running) end(end *endError) {
	r.ended, r.out.endError = true, end
	r.conclude()
	for _, stop := range r.stop {
		stop()
	}
	if r.turns != nil {
		r.turns.Close()
	}
	r.over(r.out)
}

// conclude notes how a subscription ended, and what its client is told of it.
func (r *running) conclude() {
	r.streams.metrics.ends.WithLabelValues(r.via, r.out.reason).Inc()
	if r.out.err == nil {
		return
	}
	// The context has ended, but the reason is not that a deadline passed.
	last := r.present(context.WithoutCancel(r.ctx), r.out.err)
	last.Extensions["reason"] = r.out.reason
	last.Path = nil
	r.out.errors = append(r.out.errors, last)
}

// begin dispatches the operation; false when it was refused.
func (r *running) begin() bool {
	ctx := r.ctx
	if r.take != nil {
		begun, err := r.take(ctx, r.op.Headers, r.op.Extensions)
		if err != nil {
			r.out.errors = gqlerror.List{r.present(ctx, err)}
			return false
		}
		ctx = begun
	}
	// What the resolver ends does not end the events that it has sent already.
	own, cancel := stream.With(stream.WithDriver(ctx, r))
	r.own, r.stop = own, append(r.stop, func() { cancel(context.Canceled) })
	responses, inner := r.exec.DispatchOperation(own, r.op)
	event, stop := eventContext(r.ctx, inner)
	r.responses, r.event, r.stop = responses, event, append(r.stop, stop)
	if r.request.failed() {
		// gqlgen answers with the errors alone then, and once.
		if resp := responses(event); resp != nil {
			r.out.errors = resp.Errors
		}
		return false
	}
	r.same = authz.WithoutUser(event)
	r.ids = idsOf(r.op)
	r.choice = choiceOf(r.op, r.ids)
	return true
}

// start runs a subscription until it ends, and then calls over, from any goroutine or
// at once. The context is that of the request, with its user; it carries the reason
// when the transport ends it.
func (s *streams) start(ctx context.Context, sub subscription, over func(outcome)) {
	user, _ := authz.UserFrom(ctx)
	leave, limited := s.subscribe(sub.via, user.Name)
	if limited != nil {
		over(outcome{endError: &endError{reason: reasonRefused}, errors: gqlerror.List{sub.present(ctx, limited)}})
		return
	}
	r := &running{subscription: sub, streams: s, request: requestFrom(ctx), over: over, counter: s.metrics.events.WithLabelValues(sub.via)}
	r.turn.Store(working)
	r.ctx, r.standing = s.sentry.Begin(ctx, r.request.credentials, user)
	r.stop = []func(){leave, r.standing.End}
	begun := false
	var failed *endError
	func() { //nolint:contextcheck // The stream's own derives from it.
		defer func() {
			if v := recover(); v != nil {
				failed = &endError{reason: reasonFailed, err: recoverPanic(r.ctx, v)}
			}
		}()
		begun = r.begin()
	}()
	switch {
	case failed != nil:
		r.end(failed) //nolint:contextcheck // As above.
		return
	case !begun:
		r.end(&endError{reason: reasonRefused}) //nolint:contextcheck // As above.
		return
	}
	r.request.logBegin(r.ctx) //nolint:contextcheck // As above.
	if r.turns != nil {
		forget := context.AfterFunc(r.own, r.Wake) //nolint:contextcheck // It ends with r.ctx, too.
		r.stop = append(r.stop, func() { forget() })
	}
	if r.turns == nil {
		go r.work() //nolint:contextcheck // It waits for its resolver, and has its own.
		return
	}
	s.crew.add(r)
}

// run is start that waits.
func (s *streams) run(ctx context.Context, sub subscription) outcome {
	over := make(chan outcome, 1)
	s.start(ctx, sub, func(out outcome) { over <- out })
	return <-over
}
