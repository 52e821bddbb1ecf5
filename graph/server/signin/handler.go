package signin

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// Path is where a page finds out about its session. The paths below it begin, renew and end one.
const Path = "/session"

const (
	// beginPath sends a person to the provider, and callbackPath is where the provider sends them back to.
	beginPath    = Path + "/signin"
	callbackPath = Path + "/callback"
	renewPath    = Path + "/renew"
	endPath      = Path + "/signout"

	// flowLife is how long a person may take at the provider.
	flowLife = 10 * time.Minute
	// maxBody is the size of a body, in bytes.
	maxBody = 4 << 10
)

// What a page is told of a sign-in that failed, in the parameter `signin` of its address.
const (
	// failedDenied is a person, or the provider, who declined.
	failedDenied = "denied"
	// failedExpired is a sign-in that took too long, or was begun in another browser.
	failedExpired = "expired"
	// failedRefused is a person whom the global cluster does not know.
	failedRefused = "refused"
	// failedUnavailable is a provider that cannot be reached.
	failedUnavailable = "unavailable"
)

// Options are what a Handler is made of.
type Options struct {
	// Provider is where people sign in; nil where they cannot.
	Provider *Provider
	// Keys seal the cookies.
	Keys consistency.Keys
	// Life is how long a person stays signed in.
	Life time.Duration
	// SignedOut remembers who signed out everywhere.
	SignedOut SignedOut
	// Identify returns whose token it is. It fails where the global cluster does not take it, with
	// CodeUnauthenticated.
	Identify func(ctx context.Context, token string) (authz.User, error)
	Logger   *slog.Logger
	Now      func() time.Time
}

// Handler serves the addresses below Path, and has cookies stand for tokens at others.
type Handler struct {
	Options

	mux           *http.ServeMux
	flows, people cookie.Jar
}

// flow is a sign-in that has begun.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Return   string `json:"r"`
}

// person is who is signed in.
type person struct {
	Token   string `json:"t"`
	Refresh string `json:"r,omitempty"`
	Subject string `json:"s"`
	// Began is when they signed in, and Expires when the token ends, in seconds since 1970.
	Began   int64 `json:"b"`
	Expires int64 `json:"e"`
}

// New makes the handler.
func New(o Options) *Handler {
	h := &Handler{Options: o, mux: http.NewServeMux()}
	// The provider sends a browser back from another site, which Strict cookies don't survive.
	h.flows = cookie.Jar{Name: "kairship_signin", SameSite: http.SameSiteLaxMode, Life: flowLife, Keys: o.Keys, Now: o.Now}
	h.people = cookie.Jar{Name: "kairship_session", SameSite: http.SameSiteStrictMode, Life: o.Life, Keys: o.Keys, Now: o.Now}
	h.mux.HandleFunc("GET "+Path, h.state)
	if o.Provider != nil {
		h.mux.HandleFunc("GET "+beginPath, h.begin)
		h.mux.HandleFunc("GET "+callbackPath, h.callback)
		h.mux.HandleFunc("POST "+renewPath, ofPage(h.renew))
		h.mux.HandleFunc("POST "+endPath, ofPage(h.end))
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// ofPage refuses what a page of another site may have sent.
func ofPage(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !origin.OwnPage(r) || !mediatype.IsJSON(r.Header) {
			fail(w, http.StatusForbidden, apierror.CodeForbidden, "This address is for pages of this server, and takes Content-Type: application/json")
			return
		}
		next(w, r)
	}
}

// State is what a page is told about its session.
type State struct {
	// SignIn is where a person signs in, with the path to come back to as the parameter `return`; empty where
	// there is no provider.
	SignIn string `json:"signIn"`
	// ExpiresAt is when the session has to be renewed; null for who is not signed in.
	ExpiresAt *time.Time `json:"expiresAt"`
	// EndsAt is when the person has to sign in again.
	EndsAt *time.Time `json:"endsAt"`
}

func (h *Handler) state(w http.ResponseWriter, r *http.Request) {
	if h.Provider == nil {
		answer(w, http.StatusOK, State{})
		return
	}
	var p person
	switch err := h.people.Get(r, &p); {
	case errors.Is(err, cookie.ErrNone):
		answer(w, http.StatusOK, State{SignIn: beginPath})
	case err != nil:
		h.unavailable(w, r, "reading the session", err)
	default:
		answer(w, http.StatusOK, h.stateOf(&p))
	}
}

func (h *Handler) stateOf(p *person) State {
	return State{SignIn: beginPath, ExpiresAt: new(time.Unix(p.Expires, 0).UTC()), EndsAt: new(h.ends(p).UTC())}
}

// ends is when a person has to sign in again.
func (h *Handler) ends(p *person) time.Time { return time.Unix(p.Began, 0).Add(h.Life) }

// renew gives a session new tokens. A page sends it before the session expires, one for all its tabs.
func (h *Handler) renew(w http.ResponseWriter, r *http.Request) {
	var p person
	if err := h.people.Get(r, &p); err != nil {
		h.ended(w, r, err)
		return
	}
	out, err := h.SignedOut.Since(r.Context(), p.Subject)
	switch {
	case err != nil:
		h.unavailable(w, r, "reading who signed out everywhere", err)
		return
	case p.Refresh == "" || !time.Unix(p.Began, 0).After(out) || h.Now().After(h.ends(&p)):
		h.people.Remove(w, r)
		h.ended(w, r, cookie.ErrNone)
		return
	}
	got, err := h.Provider.renew(r.Context(), p.Refresh)
	switch {
	case errors.Is(err, errRefused) || err == nil && got.subject != p.Subject:
		h.people.Remove(w, r)
		h.ended(w, r, cookie.ErrNone)
		return
	case err != nil:
		h.unavailable(w, r, "renewing a session", err)
		return
	}
	p.Token, p.Expires = got.id, got.expires.Unix()
	if got.refresh != "" {
		p.Refresh = got.refresh
	}
	if err := h.people.Set(w, r, p); err != nil {
		h.unavailable(w, r, "sealing a session", err)
		return
	}
	answer(w, http.StatusOK, h.stateOf(&p))
}

// end ends a session, and with `everywhere` all of its person.
func (h *Handler) end(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Everywhere bool `json:"everywhere"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&wanted); err != nil {
		fail(w, http.StatusBadRequest, apierror.CodeInvalid, `The body is JSON such as {"everywhere": false}`)
		return
	}
	var p person
	switch err := h.people.Get(r, &p); {
	case errors.Is(err, cookie.ErrNone):
	case err != nil:
		h.unavailable(w, r, "reading the session", err)
		return
	case wanted.Everywhere:
		if err := h.SignedOut.Set(r.Context(), p.Subject, h.Now()); err != nil {
			h.unavailable(w, r, "signing out everywhere", err)
			return
		}
	}
	h.people.Remove(w, r)
	// The session is over here whatever the provider answers.
	if err := h.Provider.revoke(r.Context(), p.Refresh); err != nil {
		h.Logger.WarnContext(r.Context(), "a refresh token was not revoked", "error", err)
	}
	answer(w, http.StatusOK, struct {
		// ContinueAt is where the person ends the provider's own session; empty where that has none.
		ContinueAt string `json:"continueAt"`
	}{h.Provider.endSession(r.Context(), h.address(r, "/"))})
}

// ended answers a request of a page whose session is over.
func (h *Handler) ended(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, cookie.ErrNone) {
		h.unavailable(w, r, "reading the session", err)
		return
	}
	fail(w, http.StatusUnauthorized, apierror.CodeUnauthenticated, "You are not signed in, or have to sign in again")
}

// unavailable answers that something cannot be done now. What went wrong is for the log alone.
func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, doing string, err error) {
	h.Logger.ErrorContext(r.Context(), "sign-in: "+doing, "error", err)
	w.Header().Set("Retry-After", "5")
	fail(w, http.StatusServiceUnavailable, apierror.CodeTimeout, "This cannot be done now; try again")
}

// address is that of a path, as the browser knows it. The provider sends people to addresses alone that are
// registered with it.
func (h *Handler) address(r *http.Request, path string) string {
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		u.Scheme = "https"
	}
	return u.JoinPath(path).String()
}

func fail(w http.ResponseWriter, status int, code apierror.Code, message string) {
	answer(w, status, struct {
		Code    apierror.Code `json:"code"`
		Message string        `json:"message"`
	}{code, message})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", mediatype.JSON)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck,errchkjson // The page went away.
}
