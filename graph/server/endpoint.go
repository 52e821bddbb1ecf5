package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// allowedMethods is the Allow header of /graphql.
const allowedMethods = "OPTIONS, GET, POST"

// endpoint is /graphql: it gives the request its trace id, finds out who sends
// it and whether they are served, and only then lets GraphQL read it.
type endpoint struct {
	graphql    *handler.Server
	who        who
	present    graphql.ErrorPresenterFunc
	recorder   *telemetry.Recorder
	newTraceID func() string
	session    *session
	limits     *limit.Metrics
	origins    *origin.Policy
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, span, traceID := trace.Begin(r, routeOf(r), e.newTraceID, e.who.authenticator)
	w.Header().Set(trace.Header, traceID)
	rec := e.recorder.Begin()
	r = r.WithContext(telemetry.With(trace.With(ctx, trace.Request{ID: traceID, From: r.RemoteAddr, Span: span}), rec)) //nolint:contextcheck // trace.Begin makes it of the request's.

	recorder := trace.NewStatusRecorder(w)
	// A deferred line is written for a handler that panics too.
	defer func() { //nolint:contextcheck // The request carries the context.
		rec.Write(r.Context(), recorder.Status)
		trace.End(span, recorder.Status)
	}()
	if err := refusedImpersonation(r.Header); err != nil {
		e.refuse(recorder, r, http.StatusBadRequest, err)
		return
	}
	if r.URL.Path == SessionPath {
		e.serveSession(recorder, r)
		return
	}
	e.serve(recorder, r)
}

// routeOf is the address of a request, as spans have it.
func routeOf(r *http.Request) string {
	if r.URL.Path == SessionPath {
		return SessionPath
	}
	return "/graphql"
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodPost:
	case http.MethodOptions:
		// No header allows another origin: the pages that call the API come from its own.
		w.Header().Set("Allow", allowedMethods)
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", allowedMethods)
		e.refuse(w, r, http.StatusMethodNotAllowed, apierror.Invalid("", "the methods of this address are %s", allowedMethods))
		return
	}
	if isUpgrade(r) {
		// A WebSocket may say later whose it is.
		e.graphql.ServeHTTP(w, r)
		return
	}
	credentials := authz.RequestCredentials(r)
	if credentials.Empty() {
		credentials = e.session.credentials(r)
	}
	if ctx, ok := e.identify(w, r, credentials); ok {
		e.graphql.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // It comes from the request's.
	}
}

// identify finds out who sends a request, and whether they are served; else it
// answers the request.
func (e *endpoint) identify(w http.ResponseWriter, r *http.Request, credentials authz.Credentials) (context.Context, bool) {
	ctx, err := e.who.identify(r.Context(), credentials)
	if err == nil {
		return ctx, true
	}
	if apierror.Is(err, apierror.CodeUnauthenticated) {
		w.Header().Set("WWW-Authenticate", challenge(credentials))
	}
	if limited, ok := errors.AsType[*apierror.Error](err); ok && limited.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(response.RetryAfter(limited.RetryAfter)))
	}
	e.refuse(w, r, statusOfIdentity(err), err)
	return nil, false
}

// who finds out who callers are.
type who struct {
	authenticator authz.Authenticator
	authorizer    authz.Authorizer
}

// identify finds out whose credentials these are and whether that user is served,
// and notes it in the record of the request. The context that it returns has the
// user, the credentials and a record for the audit.
func (i who) identify(ctx context.Context, credentials authz.Credentials) (context.Context, error) {
	user, err := i.authenticator.Authenticate(ctx, credentials)
	if err != nil {
		return nil, err
	}
	ctx, record := audit.With(withCredentials(authz.WithUser(ctx, user), credentials))
	telemetry.From(ctx).SetUser(user.Name, record)
	if err := i.authorizer.CanServe(ctx, user); err != nil {
		if apierror.Is(err, apierror.CodeForbidden) {
			record.Refuse("")
		} else {
			record.Fail()
		}
		return nil, err
	}
	return ctx, nil
}

type credentialsKey struct{}

func withCredentials(ctx context.Context, c authz.Credentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
}

// credentialsFrom returns the credentials that the user of a context was identified by.
// Streams check them again.
func credentialsFrom(ctx context.Context) authz.Credentials {
	c, _ := ctx.Value(credentialsKey{}).(authz.Credentials)
	return c
}

func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	mediaType, _ := mediatype.Negotiate(r)
	response.WriteErrors(w, mediaType, status, gqlerror.List{e.present(r.Context(), err)})
}

// challenge is the WWW-Authenticate header of RFC 6750: it names an error only
// when there were credentials to be wrong.
func challenge(c authz.Credentials) string {
	if c.Empty() {
		return `Bearer realm="kairship"`
	}
	return `Bearer realm="kairship", error="invalid_token"`
}

// statusOfIdentity is the HTTP status of a request whose caller could not be
// told. When the global cluster does not answer, the whole API is away for that
// caller: 503 says so, and clients and load balancers know to come back.
func statusOfIdentity(err error) int {
	if code := apierror.CodeOf(err); code != apierror.CodeTimeout {
		return code.HTTPStatus()
	}
	return http.StatusServiceUnavailable
}
