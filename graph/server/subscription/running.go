package subscription

import (
	"context"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
)

// running is a subscription under way. A resolver that follows changes has it consume them: it has a
// goroutine only while there is something to send, because most subscriptions are
// silent nearly always. The events of other resolvers are waited for in one.
type running struct {
	Subscription

	manager *Manager
	record  *telemetry.Record
	session *authz.Session
	// ctx is the stream's, own that of its resolver, and event that of single events.
	// Events that are the same for all users are resolved in withoutUser.
	ctx, own, event, withoutUser context.Context //nolint:containedctx // They live as long as it does.
	// stop ends the contexts and gives back the place.
	stop      []func()
	responses graphql.ResponseHandler
	ids       eventIDs
	// selection stands for what is selected; empty where no other
	// subscriber gets the same results.
	selection selection
	out       Outcome
	over      func(Outcome)
	// counter counts events.
	counter prometheus.Counter
	// ended: over was called, or is about to be.
	ended bool

	// state is what it is doing: see the constants.
	state atomic.Int32
	// events is nil for a resolver that has a goroutine of its own. It is set before the first event
	// is pulled.
	events changes.Iterator
	// skipped is set when the event that was pulled is not sent.
	skipped bool
}

var _ stream.Consumer = (*running)(nil)

// What a subscription is doing.
const (
	idle = iota
	working
	// woken: it is working, and was woken since it began.
	woken
)

// Wake implements changes.Consumer.
func (r *running) Wake() {
	for {
		switch {
		case r.state.CompareAndSwap(idle, working):
			r.manager.workers.Add(r)
			return
		case r.state.Load() == woken, r.state.CompareAndSwap(working, woken):
			return
		}
	}
}

// Consume implements changes.Consumer.
func (r *running) Consume(_ context.Context, t changes.Iterator) { r.events = t }

// Discard implements stream.Consumer.
func (r *running) Discard() { r.skipped = true }

// Work sends what is pending, and rests until there is more.
func (r *running) Work() {
	defer func() {
		if v := recover(); v != nil && !r.ended {
			r.finish(&EndError{Reason: reasonFailed, Err: presenter.Recover(r.ctx, v)})
		}
	}()
	for {
		if end := r.send(); end != nil {
			r.finish(end)
			return
		}
		if r.state.CompareAndSwap(working, idle) {
			return
		}
		r.state.Store(working)
	}
}

// send sends events until there is none, or no more; it returns why then.
func (r *running) send() *EndError {
	for {
		if r.ctx.Err() != nil {
			return endOf(r.ctx)
		}
		if r.events != nil && !r.events.Pull(r.own) {
			return nil
		}
		resp, id := r.next()
		if r.skipped {
			r.skipped = false
			continue
		}
		switch {
		case r.ctx.Err() != nil:
			// An event that is ready now may be one that may no longer be seen.
			return endOf(r.ctx)
		case resp == nil && r.own.Err() != nil:
			return endOf(r.own)
		case resp == nil && r.manager.IsStopping():
			// What it reads from may have ended before it was to end.
			return ErrDraining
		case resp == nil:
			return ErrCompleted
		}
		if r.session.Confirmed(r.ctx) != nil {
			return endOf(r.ctx)
		}
		if end := r.Sink.Next(resp, id); end != nil {
			return end
		}
		if r.out.Events == 0 {
			// What goes on from here is for as long as the client likes.
			r.record.SetResult(resp.Data)
			r.record.EndSpan()
		}
		r.out.Events++
		r.counter.Inc()
	}
}

// next returns the next result, with its id; nil when there are no more.
func (r *running) next() (*graphql.Response, string) {
	if r.events != nil {
		if content, ok := r.events.Content(); ok && r.selection != (selection{}) {
			return r.shared(content)
		}
		return r.resolve()
	}
	resp := r.responses(r.event)
	if resp == nil {
		return nil, ""
	}
	return resp, r.ids.of(resp.Data)
}

// resolve returns the result of the event that was pulled, for this subscriber alone.
func (r *running) resolve() (*graphql.Response, string) {
	if r.events.Send(r.own) == changes.Skipped {
		r.skipped = true
		return nil, ""
	}
	resp := r.responses(r.event)
	if resp == nil {
		return nil, ""
	}
	return resp, r.ids.of(resp.Data)
}

// shared returns a result that others get too, except for the cursor. The first caller
// has it made, without their user and with nothing to read: what needs either fails,
// and is no result that is the same for all users.
func (r *running) shared(content changes.Content) (*graphql.Response, string) {
	key := resultKey{r.selection, content}
	cursor := ""
	if r.ids.cursor != "" {
		cursor = r.events.Cursor()
	}
	if known, ok := r.manager.results.find(key); ok {
		return &graphql.Response{Data: known.with(cursor)}, cursor
	}
	if r.events.Send(r.own) == changes.Skipped {
		r.skipped = true
		return nil, ""
	}
	resp := r.responses(r.withoutUser)
	if resp != nil && len(resp.Errors) == 0 && len(resp.Extensions) == 0 {
		if made, ok := r.ids.split(resp.Data); ok {
			r.manager.results.keep(key, made)
			return resp, cursor
		}
	}
	r.selection = selection{}
	if resp == nil || r.ctx.Err() != nil {
		return nil, ""
	}
	return r.resolve()
}

// finish ends the subscription. It is called once, by the goroutine that works.
func (r *running) finish(end *EndError) {
	r.ended, r.out.End = true, end
	r.conclude()
	for _, stop := range r.stop {
		stop()
	}
	if r.events != nil {
		r.events.Close()
	}
	r.over(r.out)
}

// conclude notes how a subscription ended, and the error that is sent to its client.
func (r *running) conclude() {
	r.manager.metrics.ends.WithLabelValues(r.Via, r.out.End.Reason).Inc()
	if r.out.End.Err == nil {
		return
	}
	// The context has ended, but the reason is not that a deadline passed.
	last := r.Present(context.WithoutCancel(r.ctx), r.out.End.Err)
	last.Extensions["reason"] = r.out.End.Reason
	last.Path = nil
	r.out.Errors = append(r.out.Errors, last)
}

// dispatch begins the operation; false when it was refused.
func (r *running) dispatch() bool {
	ctx := r.ctx
	if r.Begin != nil {
		begun, err := r.Begin(ctx, r.Op.Headers, r.Op.Extensions)
		if err != nil {
			r.out.Errors = gqlerror.List{r.Present(ctx, err)}
			return false
		}
		ctx = begun
	}
	// What the resolver ends does not end the events that it has sent already.
	own, cancel := stream.With(stream.WithConsumer(ctx, r))
	r.own, r.stop = own, append(r.stop, func() { cancel(context.Canceled) })
	responses, inner := r.Exec.DispatchOperation(own, r.Op)
	event, stop := eventContext(r.ctx, inner)
	r.responses, r.event, r.stop = responses, event, append(r.stop, stop)
	if r.record.HasErrors() {
		// gqlgen answers with the errors alone then, and once.
		if resp := responses(event); resp != nil {
			r.out.Errors = resp.Errors
		}
		return false
	}
	r.withoutUser = authz.WithoutUser(event)
	r.ids = idsOf(r.Op)
	r.selection = selectionOf(r.Op, r.ids)
	return true
}

// Start runs a subscription until it ends, and then calls over, from any goroutine or
// at once. The context is that of the request, with its user; it carries the reason
// when the transport ends it.
func (m *Manager) Start(ctx context.Context, sub Subscription, over func(Outcome)) {
	user, _ := authz.UserFrom(ctx)
	leave, limited := m.subscribe(sub.Via, user.Name)
	if limited != nil {
		over(Outcome{End: &EndError{Reason: reasonRefused}, Errors: gqlerror.List{sub.Present(ctx, limited)}})
		return
	}
	r := &running{Subscription: sub, manager: m, record: telemetry.From(ctx), over: over, counter: m.metrics.events.WithLabelValues(sub.Via)}
	r.state.Store(working)
	r.ctx, r.session = m.Sessions.Begin(ctx, identity.CredentialsFrom(ctx), user)
	r.stop = []func(){leave, r.session.End}
	begun := false
	var failed *EndError
	func() { //nolint:contextcheck // The stream's own derives from it.
		defer func() {
			if v := recover(); v != nil {
				failed = &EndError{Reason: reasonFailed, Err: presenter.Recover(r.ctx, v)}
			}
		}()
		begun = r.dispatch()
	}()
	switch {
	case failed != nil:
		r.finish(failed) //nolint:contextcheck // As above.
		return
	case !begun:
		r.finish(&EndError{Reason: reasonRefused}) //nolint:contextcheck // As above.
		return
	}
	r.record.WriteBegin(r.ctx) //nolint:contextcheck // As above.
	if r.events != nil {
		forget := context.AfterFunc(r.own, r.Wake) //nolint:contextcheck // It ends with r.ctx, too.
		r.stop = append(r.stop, func() { forget() })
	}
	if r.events == nil {
		go r.Work() //nolint:contextcheck // It waits for its resolver, and has its own.
		return
	}
	m.workers.Add(r)
}

// Run runs a subscription, and returns once it has ended.
func (m *Manager) Run(ctx context.Context, sub Subscription) Outcome {
	over := make(chan Outcome, 1)
	m.Start(ctx, sub, func(out Outcome) { over <- out })
	return <-over
}
