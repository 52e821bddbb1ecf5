package instanceproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// Bounds of one request.
const (
	// maxQueued is how long a request waits for its turn under Options.QPS.
	maxQueued = 2 * time.Second
	// refreshWait is how long word of new credentials may take once the old ones
	// were refused.
	refreshWait = 3 * time.Second
	// patience is how long a request must have waited in vain for its end by the
	// caller to be taken for a sign that the instance hangs.
	patience = 2 * time.Second
)

// RoundTrip implements http.RoundTripper: it sends a request to the instance as
// the user of its context.
func (i *instance) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := i.roundTrip(r)
	if err != nil && r.Body != nil {
		r.Body.Close() // http.RoundTripper demands it.
	}
	if err == nil && response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = quota.Body(r.Context(), response.Body)
	}
	return response, err
}

func (i *instance) roundTrip(r *http.Request) (*http.Response, error) {
	identity, err := identityOf(r.Context())
	if err != nil {
		return nil, err
	}
	if err := i.turn(r.Context()); err != nil {
		return nil, err
	}
	observed := i.metrics.begin(r)
	r, span := i.traced(r)
	sent := requeststats.From(r.Context()).Send(requeststats.Target{Kind: requeststats.Instance, Name: i.name}) //nolint:contextcheck // It is the request's.
	response, err := i.attempt(r, identity)
	sent(err)
	observed(response, err)
	span.Answered(response, err)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// traced makes a step of the request in the trace that it is sent for, and names
// the trace to the instance. The request itself is not changed.
func (i *instance) traced(r *http.Request) (*http.Request, tracing.Span) {
	if tracing.TraceID(r.Context()) == "" {
		return r, tracing.Span{}
	}
	header := make(http.Header, len(r.Header)+1)
	maps.Copy(header, r.Header)
	ctx, span := tracing.Request(r.Context(), tracing.MethodOf(r), tracing.ToInstance, header)
	span.Text(tracing.Instance, i.name)
	traced := r.WithContext(ctx)
	traced.Header = header
	return traced, span
}

// turn waits until the limit of requests lets one more through.
func (i *instance) turn(ctx context.Context) error {
	booked := i.limit.Reserve()
	delay := booked.Delay()
	if delay == 0 {
		return nil
	}
	if delay > maxQueued {
		booked.Cancel()
		i.metrics.rateLimited()
		return apierror.In(apierror.New(apierror.CodeRateLimited, "too much is asked of instance %q at once; try again", i.name), i.name)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		booked.Cancel()
		return ctx.Err()
	}
}

// attempt sends a request, and again when the instance did not accept the
// credentials it came with and there are others by now.
func (i *instance) attempt(r *http.Request, identity http.Header) (*http.Response, error) {
	now, err := i.enter(r.Context())
	if err != nil {
		return nil, err
	}
	// The link must not close before it was asked what a refusal means.
	defer func() { now.leave() }()
	sending := &replay{request: r}
	for deadline := time.Now().Add(refreshWait); ; {
		once, ok := sending.next()
		if !ok {
			return nil, unavailable(i.name, nil, "the credentials of instance %q changed while the request was sent; try again", i.name)
		}
		response, err := i.over(now, once, identity)
		if !i.isRefusal(r.Context(), now, identity, response, err) {
			return response, err
		}
		if response != nil {
			discard(response.Body)
		}
		if time.Now().After(deadline) {
			return nil, refused(i.name, err)
		}
		next, err := i.other(r.Context(), now, err)
		if err != nil {
			return nil, err
		}
		now.leave()
		now = next
	}
}

// enter takes the link of this moment, and counts the request in.
func (i *instance) enter(ctx context.Context) (*link, error) {
	select {
	case <-i.known:
	case <-i.life.Done():
		return nil, gone(i.name)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, uncredentialed(i.name, ctx.Err())
		}
		return nil, ctx.Err()
	}
	for {
		now := i.target.Load()
		switch {
		case i.life.Err() != nil:
			return nil, gone(i.name)
		case now.link == nil:
			return nil, uncredentialed(i.name, now.problem)
		case now.link.enter():
			return now.link, nil
		}
		// It was replaced in between; its successor is there already.
	}
}

// over sends a request over a link that its caller was counted into. Its answer
// is counted in separately, until its body is closed.
func (i *instance) over(l *link, r *http.Request, identity http.Header) (*http.Response, error) {
	done, err := l.breaker.allow() //nolint:contextcheck // Probes outlive the request that caused them.
	if err != nil {
		return nil, silent(i.name, err)
	}
	l.hold()
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.life, cancel) //nolint:contextcheck // The link may end before the request.
	release := func() {
		stop()
		cancel()
		l.leave()
	}
	begun := time.Now()
	var response *http.Response
	if identity != nil {
		err = l.check(ctx)
	}
	if err == nil {
		var way requestProgress
		if response, err = l.send(way.observe(ctx), r, identity); err != nil {
			err = way.classify(r, err)
		}
	}
	if err == nil {
		done(nil)
		if response.StatusCode != http.StatusUnauthorized && l.refusedAt.Load() != 0 {
			l.refusedAt.Store(0)
		}
		response.Body = follow(l.life, response.Body, release) //nolint:contextcheck // The same.
		return response, nil
	}
	defer release()
	return nil, i.failed(r.Context(), l, done, err, time.Since(begun))
}

// failed turns the failure of a request into an error for its caller, and tells
// the breaker when it says something about the instance.
func (i *instance) failed(ctx context.Context, l *link, done func(error), err error, waited time.Duration) error {
	var answered *statusError
	var fault *callersError
	switch {
	case errors.As(err, &answered):
		done(nil)
		if isRefused(err) {
			return err // See attempt.
		}
		return silent(i.name, err)
	case errors.Is(err, errNotHeeded):
		done(nil)
		return unimpersonated(i.name, err)
	case i.life.Err() != nil:
		done(errInconclusive)
		return gone(i.name)
	case l.life.Err() != nil:
		done(errInconclusive)
		return unavailable(i.name, err, "the connection to instance %q was replaced; try again", i.name)
	case ctx.Err() == nil && errors.As(err, &fault):
		done(errInconclusive)
		return unsendable(i.name, fault)
	case ctx.Err() == nil && (errors.Is(err, errUnsent) || errors.Is(err, errBeyond)):
		done(errInconclusive)
		l.breaker.suspect() //nolint:contextcheck // Probes outlive the request that caused them.
		return silent(i.name, err)
	case ctx.Err() == nil:
		done(err)
		return silent(i.name, err)
	}
	// The caller's patience is no measure of the instance, but a reason to look.
	done(errInconclusive)
	if waited >= patience {
		l.breaker.suspect() //nolint:contextcheck // Probes outlive the request that caused them.
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return silent(i.name, err)
	}
	return ctx.Err()
}

// isRefusal reports whether the instance did not accept Kairship's own credentials, or
// that they may no longer speak for users. Either is decided before a request is
// executed. Both may also come from beyond the instance, through Karmada's proxy
// to its members; they are then passed on.
func (i *instance) isRefusal(ctx context.Context, l *link, identity http.Header, response *http.Response, err error) bool {
	if err != nil {
		return isRefused(err)
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return isRefused(l.accepts(ctx, identity))
	case http.StatusForbidden:
		return identity != nil && begins(response, impersonationRefused) && isRefused(l.accepts(ctx, identity))
	}
	return false
}

// isRefused tells the refusal in an error of package link.
func isRefused(err error) bool {
	var answered *statusError
	return errors.As(err, &answered) && (answered.code == http.StatusUnauthorized || answered.code == http.StatusForbidden)
}

// impersonationRefused is what an apiserver says, in JSON as in protobuf, when it
// does not let a user impersonate.
const impersonationRefused = "cannot impersonate resource"

// begins reports whether the beginning of a body holds a text. The body stays whole.
func begins(response *http.Response, text string) bool {
	const enough = 4 << 10
	head, err := io.ReadAll(io.LimitReader(response.Body, enough))
	rest := io.Reader(response.Body)
	if err != nil {
		rest = failing{err}
	}
	response.Body = &restoredBody{Reader: io.MultiReader(bytes.NewReader(head), rest), Closer: response.Body}
	return bytes.Contains(head, []byte(text))
}

type restoredBody struct {
	io.Reader
	io.Closer
}

// failing is the rest of a body that broke.
type failing struct{ error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.error }

// other waits for credentials other than those that were refused, and counts
// the request into their link.
func (i *instance) other(ctx context.Context, refusedBy *link, why error) (*link, error) {
	now := i.target.Load()
	if now.link == refusedBy {
		refusedBy.refusedAt.CompareAndSwap(0, time.Now().UnixNano())
		wait := refreshWait - time.Since(time.Unix(0, refusedBy.refusedAt.Load()))
		i.lookAgain()
		timer := time.NewTimer(max(wait, 0))
		defer timer.Stop()
		select {
		case <-now.replaced:
		case <-timer.C:
			return nil, refused(i.name, why)
		case <-i.life.Done():
			return nil, gone(i.name)
		case <-ctx.Done():
			return nil, refused(i.name, ctx.Err())
		}
	}
	return i.enter(ctx)
}

func (i *instance) lookAgain() {
	i.mu.Lock()
	follower := i.follower
	i.mu.Unlock()
	if follower != nil {
		follower.lookAgain()
	}
}

// observe calls release when a body is closed or ends, and closes one that became
// a connection of its own when the link ends: it no longer hears of the request's
// context.
func follow(life context.Context, body io.ReadCloser, release func()) io.ReadCloser {
	followed := &followedBody{ReadCloser: body, release: sync.OnceFunc(release)}
	stream, ok := body.(io.ReadWriteCloser)
	if !ok {
		return followed
	}
	stop := context.AfterFunc(life, func() { stream.Close() })
	followed.release = sync.OnceFunc(func() { stop(); release() })
	return &followedStream{followedBody: followed, Writer: stream}
}

type followedBody struct {
	io.ReadCloser
	release func()
}

// Read implements io.Reader. What was read to its end needs no connection.
func (b *followedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.release()
	}
	return n, err
}

// Close implements io.Closer.
func (b *followedBody) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// followedStream is the two-way stream behind an upgrade.
type followedStream struct {
	*followedBody
	io.Writer
}
