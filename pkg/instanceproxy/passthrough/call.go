package passthrough

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// call is one request through the passthrough.
type call struct {
	handler  *Handler
	instance string
	target   *url.URL
	what     request
	// caller is the user who sent the request, as the one it is sent for: the same, unless
	// impersonated.
	caller, as authz.User
	// grant is what the latter may do in the instance; set by admit.
	grant authz.Grant
	// visible reports whether the latter may know of the instance; set by admit.
	visible bool
	// entered is the request among those of its user.
	entered *quota.Operation
	// exec is what runs in a container; nil for anything else, and while it is not accepted.
	exec *audit.Exec
	// ended says why Kairship ended the request; nil where it did not.
	ended atomic.Pointer[apierror.Error]
}

func (c *call) serve(w http.ResponseWriter, r *http.Request) {
	h, record := c.handler, audit.From(r.Context())
	if err := c.sameOrigin(r); err != nil {
		writeError(w, r, "", err)
		return
	}
	credentials := Credentials(r)
	asked := impersonationOf(r.Header)
	verb := c.verbOf(r)
	user, err := c.admit(r.Context(), credentials, asked, verb)
	switch {
	case err == nil:
		record.Permit(c.instance)
	case c.caller.Name == "":
	case apierror.Is(err, apierror.CodeNotFound), apierror.Is(err, apierror.CodeForbidden):
		record.Refuse(c.instance)
	default:
		record.Fail()
	}
	if err != nil {
		if apierror.Is(err, apierror.CodeUnauthenticated) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="kairship"`)
		}
		c.fail(w, r, err)
		return
	}
	c.as = user
	if err := c.enter(r); err != nil {
		c.fail(w, r, err)
		return
	}
	fromIndex, err := c.wantsIndex(r)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	client, err := h.Clients.Get(r.Context(), c.instance)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	tracing.At(r.Context()).Text(tracing.Instance, c.instance)
	ctx, cancel := context.WithCancel(instanceproxy.Via(authz.WithUser(r.Context(), user), instanceproxy.ViaPassthrough))
	defer cancel()
	switch {
	case fromIndex:
		ctx, stop := context.WithTimeout(quota.With(ctx, c.entered), h.IndexTimeout)
		defer stop()
		c.indexed(w, r.WithContext(ctx))
		return
	case c.what.lasts(r):
		stop := context.AfterFunc(h.Stopping, cancel) //nolint:contextcheck // It is the process that ends.
		defer stop()
	default:
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, h.Timeout)
		defer stop()
	}
	// Most are over long before that.
	end := func(why *apierror.Error) {
		c.ended.CompareAndSwap(nil, why)
		cancel()
	}
	if at := credentials.Expires(); !at.IsZero() {
		expiry := time.AfterFunc(time.Until(at), func() { end(expired()) })
		defer expiry.Stop()
	}
	if c.isSession(r) {
		longest := time.AfterFunc(h.SessionTimeout, func() { end(tooLong(h.SessionTimeout)) })
		defer longest.Stop()
	}
	recheck := time.AfterFunc(h.Recheck, func() { c.recheck(ctx, end, credentials, asked, verb) })
	defer recheck.Stop()
	c.proxy(w, r.WithContext(ctx), client) //nolint:contextcheck // The request carries it.
}

// operation names the call for the audit.
func (c *call) operation(status int) string {
	name := c.what.operation(status)
	if c.as.Name != "" && c.as.Name != c.caller.Name {
		name += " as " + c.as.Name
	}
	return name
}

// admit returns the user that a request is sent for, if the caller may send it.
func (c *call) admit(ctx context.Context, credentials authz.Credentials, asked *impersonation, verb string) (authz.User, error) {
	h := c.handler
	user, err := h.Authenticator.Authenticate(ctx, credentials)
	if err != nil {
		return authz.User{}, err
	}
	c.caller = user
	if asked != nil {
		if user, err = asked.by(ctx, h.Reviews, user); err != nil {
			return authz.User{}, err
		}
	}
	visibility, err := h.Permissions.Visibility(ctx, user, c.instance)
	if err != nil {
		return authz.User{}, err
	}
	grant, visible := visibility.Instance(c.instance)
	if !visible {
		return authz.User{}, apierror.NotFound("instance", c.instance)
	}
	c.visible = true
	if !grant.CanProxy(verb) {
		return authz.User{}, apierror.New(apierror.CodeForbidden,
			"user %q cannot %s instances/proxy of instance %q: the native API is for editors and admins; read through GraphQL instead", user.Name, verb, c.instance)
	}
	c.grant = grant
	return user, nil
}

// recheck decides again, until the request is over or not permitted any more, or until
// there was no answer for too long.
func (c *call) recheck(ctx context.Context, end func(*apierror.Error), credentials authz.Credentials, asked *impersonation, verb string) {
	h := c.handler
	undecided := time.AfterFunc(h.GiveUp-h.Recheck, func() { end(undecided()) })
	defer undecided.Stop()
	again := &call{handler: h, instance: c.instance}
	tick := time.NewTicker(h.Recheck)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, err := again.admit(ctx, credentials, asked, verb)
		switch {
		case err == nil:
			undecided.Reset(h.GiveUp)
		case apierror.Is(err, apierror.CodeUnauthenticated):
			end(expired())
			return
		case apierror.Is(err, apierror.CodeForbidden), apierror.Is(err, apierror.CodeNotFound):
			end(apierror.New(apierror.CodeForbidden, "the permission to use instance %q was taken away", c.instance))
			return
		default:
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func expired() *apierror.Error {
	return apierror.New(apierror.CodeUnauthenticated, "your token or certificate is no longer valid: try again with a new one")
}

func tooLong(after time.Duration) *apierror.Error {
	return apierror.New(apierror.CodeTimeout, "a session lasts %s at most: begin another one", after)
}

func undecided() *apierror.Error {
	return apierror.New(apierror.CodeTimeout, "the global cluster does not say whether you may go on; try again later")
}

// sameOrigin refuses what a page of another site has a browser send: the browser
// would add a client certificate automatically.
func (c *call) sameOrigin(r *http.Request) error {
	checked := r
	if c.what.upgrade(r) {
		// A WebSocket is opened by GET and can do anything.
		checked = r.Clone(r.Context())
		checked.Method = http.MethodPost
	}
	if err := c.handler.origins.Check(checked); err != nil {
		return apierror.Wrap(err, apierror.CodeForbidden, "requests from pages of other sites are refused")
	}
	return nil
}

// statusClientGone is the status, in the log, of a request that no client waits for.
const statusClientGone = 499

// fail answers with an error. It is not read when the caller went away.
func (c *call) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		switch ended := c.ended.Load(); {
		case ended != nil:
			err = ended
		case c.handler.Stopping.Err() != nil:
			err = apierror.New(apierror.CodeInstanceUnavailable, "Kairship is being stopped; try again")
		default:
			w.WriteHeader(statusClientGone)
			return
		}
	}
	known, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		known = apierror.Wrap(err, apierror.CodeInstanceUnavailable, "instance %q does not answer", c.instance)
	}
	if cause := known.Cause; cause != nil && r.Context().Err() == nil {
		c.handler.Logger.WarnContext(r.Context(), "a request through the passthrough failed",
			"code", known.Code, "instance", known.Instance, "user", c.caller.Name, "error", cause)
	}
	writeError(w, r, c.instance, known)
}
