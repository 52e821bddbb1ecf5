package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/99designs/gqlgen/graphql/handler"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/mcp"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/rest"
	"github.com/kairship-io/kairship/graph/server/rpc"
	"github.com/kairship-io/kairship/graph/server/session"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/graph/server/websocket"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// openAPIPath is where the document of the REST API is.
const openAPIPath = operation.Prefix + "openapi.json"

// allowedMethods is the Allow header of /graphql.
const allowedMethods = "OPTIONS, GET, POST"

// endpoint is /graphql, the paths of the REST API and the methods of gRPC: it gives the request its trace id, authenticates it and checks the caller's
// limits before GraphQL reads it.
type endpoint struct {
	execution.Executor

	graphql    *handler.Server
	identifier identity.Identifier
	recorder   *telemetry.Recorder
	newTraceID func() string
	session    *session.Cookies
	routes     *rest.Router
	openAPI    []byte
	// rpc has the methods of gRPC; nil for none.
	rpc *rpc.Service
	// tools are those of assistants; nil for none.
	tools http.Handler
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	if isREST(r) {
		var found *rest.Match
		found, allowed = e.routes.Find(r.Method, r.URL.Path)
		r = r.WithContext(rest.With(r.Context(), found))
	}
	ctx, span, traceID := trace.Begin(r, e.routeOf(r), e.newTraceID, e.identifier.Authenticator)
	w.Header().Set(trace.Header, traceID)
	rec := e.recorder.Begin()
	rec.SetWay(e.wayOf(r))
	r = r.WithContext(telemetry.With(trace.With(ctx, trace.Request{ID: traceID, From: r.RemoteAddr, Span: span}), rec)) //nolint:contextcheck // trace.Begin makes it of the request's.

	recorder := trace.NewStatusRecorder(w)
	// A deferred line is written for a handler that panics too.
	defer func() { //nolint:contextcheck // The request carries the context.
		rec.Write(r.Context(), recorder.Status)
		trace.End(span, recorder.Status)
	}()
	if err := identity.RefuseImpersonation(r.Header); err != nil {
		e.refuse(recorder, r, http.StatusBadRequest, err)
		return
	}
	if r.URL.Path == session.Path {
		e.serveSession(recorder, r)
		return
	}
	if r.URL.Path == mcp.Path {
		e.serveTools(recorder, r)
		return
	}
	if e.rpc.Serves(r) {
		e.serveRPC(recorder, r)
		return
	}
	if isREST(r) {
		e.serveREST(recorder, r, allowed) //nolint:contextcheck // The request carries the context.
		return
	}
	e.serve(recorder, r)
}

// wayOf returns which way into the API a request takes; empty for /graphql itself.
func (e *endpoint) wayOf(r *http.Request) string {
	switch {
	case e.rpc.Serves(r):
		return telemetry.WayRPC
	case isREST(r):
		return telemetry.WayREST
	}
	return telemetry.WayFrom(r.Context())
}

// routeOf returns the address of a request, as spans have it.
func (e *endpoint) routeOf(r *http.Request) string {
	switch m := rest.From(r.Context()); {
	case e.rpc.Has(r):
		return r.URL.Path
	case e.rpc.Serves(r):
		return e.rpc.Path
	case m != nil:
		return m.Operation.Path
	case isREST(r):
		return operation.Prefix
	case r.URL.Path == session.Path, r.URL.Path == mcp.Path:
		return r.URL.Path
	}
	return "/graphql"
}

func isREST(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, operation.Prefix) }

// serveREST serves a path of the REST API; allowed are its methods where this one is none of them.
func (e *endpoint) serveREST(w http.ResponseWriter, r *http.Request, allowed []string) {
	ctx, ok := e.identify(w, r, e.credentials(r))
	if !ok {
		return
	}
	r = r.WithContext(ctx)
	switch {
	case r.URL.Path == openAPIPath && r.Method == http.MethodGet:
		response.Compress(r, e.openAPI).Write(w, mediatype.JSON)
	case rest.From(ctx) != nil:
		e.graphql.ServeHTTP(w, r)
	case len(allowed) > 0:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		rest.Fail(ctx, w, e.Present, http.StatusMethodNotAllowed, apierror.Invalid("", "the methods of this path are %s", strings.Join(allowed, ", ")))
	default:
		rest.Fail(ctx, w, e.Present, http.StatusNotFound, apierror.New(apierror.CodeNotFound, "there is no such path: %s has all of them", openAPIPath))
	}
}

// serveRPC serves the methods of gRPC, and their definition. No cookie counts: a page of another site sends them without
// being asked.
func (e *endpoint) serveRPC(w http.ResponseWriter, r *http.Request) {
	if !e.Origins.Permits(r) {
		e.LimitMetrics.Refuse("origin")
		e.refuse(w, r, http.StatusForbidden, apierror.New(apierror.CodeForbidden, "pages of other sites may not call methods"))
		return
	}
	ctx, ok := e.identify(w, r, authz.RequestCredentials(r))
	if !ok {
		return
	}
	r = r.WithContext(ctx) //nolint:contextcheck // It comes from the request's.
	switch {
	case e.rpc.Has(r):
		e.graphql.ServeHTTP(w, r)
	case rpc.IsReflection(r):
		user, _ := authz.UserFrom(ctx) //nolint:contextcheck // As above.
		entered, limited := e.Quotas.Enter(user.Name)
		if limited != nil {
			e.refuse(w, r, limited.Code.HTTPStatus(), limited)
			return
		}
		defer entered.End()
		entered.Charge(0)
		e.rpc.Reflect(w, r)
	default:
		e.rpc.NoMethod(w, r)
	}
}

// serveTools serves assistants whose token is served. A cookie or a certificate is not enough: pages send them without
// being asked.
func (e *endpoint) serveTools(w http.ResponseWriter, r *http.Request) {
	if !e.Origins.Permits(r) {
		e.refuse(w, r, http.StatusForbidden, apierror.New(apierror.CodeForbidden, "pages of other sites may not use the tools"))
		return
	}
	credentials := authz.RequestCredentials(r)
	if credentials.Token() == "" {
		credentials = authz.Credentials{}
	}
	ctx, ok := e.identify(w, r, credentials)
	if !ok {
		return
	}
	r = r.Clone(ctx) //nolint:contextcheck // It comes from the request's.
	user, _ := authz.UserFrom(r.Context())
	entered, limited := e.Quotas.Enter(user.Name)
	if limited != nil {
		e.refuse(w, r, limited.Code.HTTPStatus(), limited)
		return
	}
	// What a call of a tool takes is counted with its operation.
	entered.Charge(0)
	entered.End()
	r.Header.Set(mcp.FromHeader, r.RemoteAddr)
	e.tools.ServeHTTP(w, r)
}

// credentials are those of a request, or of its cookie.
func (e *endpoint) credentials(r *http.Request) authz.Credentials {
	if credentials := authz.RequestCredentials(r); !credentials.Empty() {
		return credentials
	}
	return e.session.Credentials(r)
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
	if websocket.IsUpgrade(r) {
		// A WebSocket may say later whose it is.
		e.graphql.ServeHTTP(w, r)
		return
	}
	if ctx, ok := e.identify(w, r, e.credentials(r)); ok {
		e.graphql.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // It comes from the request's.
	}
}

// identify authenticates a request and checks whether its user is served; otherwise it answers the
// request.
func (e *endpoint) identify(w http.ResponseWriter, r *http.Request, credentials authz.Credentials) (context.Context, bool) {
	ctx, err := e.identifier.Identify(r.Context(), credentials)
	if err == nil {
		return ctx, true
	}
	if apierror.Is(err, apierror.CodeUnauthenticated) {
		w.Header().Set("WWW-Authenticate", identity.Challenge(credentials))
	}
	e.refuse(w, r, identity.Status(err), err)
	return nil, false
}

func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	if e.rpc.Serves(r) {
		response.SetRetryAfter(w, err)
		e.rpc.Fail(w, r, e.Present(r.Context(), err))
		return
	}
	if isREST(r) {
		rest.Fail(r.Context(), w, e.Present, status, err)
		return
	}
	mediaType, _ := mediatype.Negotiate(r)
	e.Fail(r.Context(), w, mediaType, status, err)
}

// serveSession gives out the cookie, and takes it back.
func (e *endpoint) serveSession(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost, http.MethodDelete:
	default:
		w.Header().Set("Allow", "POST, DELETE")
		e.refuse(w, r, http.StatusMethodNotAllowed, apierror.Invalid("", "the methods of this address are POST and DELETE"))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodDelete {
		e.session.Remove(w, r)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	credentials := authz.RequestCredentials(r)
	ctx, ok := e.identify(w, r, credentials)
	if !ok {
		return
	}
	// A client certificate comes with every request of the browser automatically.
	if token := credentials.Token(); token != "" {
		if refused := e.session.Set(ctx, w, r, token); refused != nil { //nolint:contextcheck // It comes from the request's.
			e.refuse(w, r, refused.Status, refused.Err)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}
