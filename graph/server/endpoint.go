package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// allowedMethods is the Allow header of /graphql.
const allowedMethods = "OPTIONS, GET, POST"

// endpoint is /graphql: it gives the request its trace id, finds out who sends
// it and whether they are served, and only then lets GraphQL read it.
type endpoint struct {
	graphql       *handler.Server
	authenticator authz.Authenticator
	authorizer    authz.Authorizer
	presenter     presenter
	logger        *slog.Logger
	audit         *audit.Log
	now           func() time.Time
	newTraceID    func() string
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	traceID := traceIDOf(r.Header.Get("traceparent")) //nolint:canonicalheader // W3C Trace Context writes it in lower case.
	if traceID == "" {
		traceID = e.newTraceID()
	}
	w.Header().Set(TraceHeader, traceID)
	req := newRequest(traceID)
	r = r.WithContext(withRequest(r.Context(), req))

	started := e.now()
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	// A deferred line is written for a handler that panics too.
	defer func() { //nolint:contextcheck // The request carries the context.
		req.log(r.Context(), e.logger, e.audit, recorder.status, e.now().Sub(started))
	}()
	e.serve(recorder, r, req)
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request, req *request) {
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
	ctx := r.Context()
	credentials := authz.RequestCredentials(r)
	user, err := e.authenticator.Authenticate(ctx, credentials)
	if err != nil {
		if apierror.Is(err, apierror.CodeUnauthenticated) {
			w.Header().Set("WWW-Authenticate", challenge(credentials))
		}
		e.refuse(w, r, statusOfIdentity(err), err)
		return
	}
	ctx, record := audit.With(authz.WithUser(ctx, user))
	req.setUser(user.Name, record)
	if err := e.authorizer.CanServe(ctx, user); err != nil {
		if apierror.Is(err, apierror.CodeForbidden) {
			record.Refuse("")
		} else {
			record.Fail()
		}
		e.refuse(w, r, statusOfIdentity(err), err)
		return
	}
	e.graphql.ServeHTTP(w, r.WithContext(ctx))
}

func (e *endpoint) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	mediaType, _ := negotiate(r)
	writeErrors(w, mediaType, status, gqlerror.List{e.presenter.present(r.Context(), err)})
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

// statusRecorder remembers the status for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
	wrote  bool
}

// WriteHeader implements http.ResponseWriter.
func (s *statusRecorder) WriteHeader(status int) {
	if !s.wrote {
		s.status, s.wrote = status, true
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the connection.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
