package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// begin sends a person to the provider.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request) {
	f := &flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: pathOf(r.URL.Query().Get("return"))}
	to, err := h.Provider.begin(r.Context(), h.address(r, callbackPath), f)
	if err == nil {
		err = h.flows.Set(w, r, f)
	}
	if err != nil {
		h.Logger.ErrorContext(r.Context(), "sign-in: beginning", "error", err)
		http.Redirect(w, r, failed(f.Return, failedUnavailable), http.StatusFound) //nolint:gosec // pathOf leads to this server alone.
		return
	}
	http.Redirect(w, r, to, http.StatusFound)
}

// callback takes what the provider sent a person back with.
func (h *Handler) callback(w http.ResponseWriter, r *http.Request) {
	var f flow
	if err := h.flows.Get(r, &f); err != nil {
		http.Redirect(w, r, failed("/", failedExpired), http.StatusFound)
		return
	}
	h.flows.Remove(w, r)
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(f.State)) != 1 {
		http.Redirect(w, r, failed(f.Return, failedExpired), http.StatusFound)
		return
	}
	if reason := h.signIn(w, r, query, &f); reason != "" {
		http.Redirect(w, r, failed(f.Return, reason), http.StatusFound)
		return
	}
	http.Redirect(w, r, f.Return, http.StatusFound)
}

// signIn sets the cookie of a person whom the provider and the global cluster know; otherwise it returns why not.
func (h *Handler) signIn(w http.ResponseWriter, r *http.Request, query url.Values, f *flow) string {
	if query.Get("error") != "" || query.Get("code") == "" {
		h.Logger.InfoContext(r.Context(), "sign-in: the provider declined", "error", query.Get("error"))
		return failedDenied
	}
	got, err := h.Provider.exchange(r.Context(), h.address(r, callbackPath), query.Get("code"), f)
	if err != nil {
		h.Logger.ErrorContext(r.Context(), "sign-in: exchanging the code", "error", err)
		if errors.Is(err, errRefused) {
			return failedDenied
		}
		return failedUnavailable
	}
	user, err := h.Identify(r.Context(), got.id)
	switch {
	case apierror.Is(err, apierror.CodeUnauthenticated):
		h.Logger.WarnContext(r.Context(), "sign-in: the global cluster does not take the provider's token", "subject", got.subject, "error", err)
		return failedRefused
	case err != nil:
		h.Logger.ErrorContext(r.Context(), "sign-in: identifying a person", "error", err)
		return failedUnavailable
	}
	if err := h.people.Set(w, r, person{Token: got.id, Refresh: got.refresh, Subject: got.subject, Began: h.Now().Unix(), Expires: got.expires.Unix()}); err != nil {
		h.Logger.ErrorContext(r.Context(), "sign-in: sealing a session", "error", err)
		return failedUnavailable
	}
	h.Logger.InfoContext(r.Context(), "signed in", "user", user.Name)
	return ""
}

// Bearer puts the token of a session into the header of requests that have no credentials, and that a page of this
// origin sends.
func (h *Handler) Bearer(next http.Handler) http.Handler {
	if h.Provider == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, h.withToken(r))
	})
}

// Socket returns a WebSocket that a page of this origin opens, as a terminal is, with the token of its session. Any
// other request it returns as it is.
func (h *Handler) Socket(r *http.Request) *http.Request {
	if h == nil || h.Provider == nil || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || r.Header.Get("Origin") == "" {
		return r
	}
	return h.withToken(r)
}

// withToken returns the request with the token of its session. A token that has expired is sent too, so that the
// page is told so.
func (h *Handler) withToken(r *http.Request) *http.Request {
	if r.Header.Get("Authorization") != "" || !origin.OwnPage(r) {
		return r
	}
	var p person
	if err := h.people.Get(r, &p); err != nil {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+p.Token)
	return r
}

// pathOf is a path of this server's pages; the first page for everything else, such as another site's address.
func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(text, "\\\r\n\t") {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// failed is the path with the reason why a sign-in failed.
func failed(path, reason string) string {
	u, err := url.Parse(path)
	if err != nil {
		u = &url.URL{Path: "/"}
	}
	query := u.Query()
	query.Set("signin", reason)
	u.RawQuery = query.Encode()
	return u.String()
}
