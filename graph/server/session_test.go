package server_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/session"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// sessionKeys are the keys of some replicas; the first seals.
type sessionKeys struct {
	all [][]byte
	err error
}

func (k *sessionKeys) Key(context.Context) ([]byte, error) {
	if k.err != nil {
		return nil, k.err
	}
	return k.all[0], nil
}

func (k *sessionKeys) Find(_ context.Context, id [consistency.KeyIDSize]byte) ([]byte, error) {
	for _, key := range k.all {
		if consistency.KeyID(key) == id {
			return key, k.err
		}
	}
	return nil, k.err
}

// TestSessionOutlivesItsKey replaces the key that sessions are sealed with, twice.
func TestSessionOutlivesItsKey(t *testing.T) {
	first, second, third := []byte("the first"), []byte("the second"), []byte("the third")
	keys := &sessionKeys{all: [][]byte{first}}
	s := start(t, nil, func(c *server.Config) { c.SessionKeys = keys })
	cookie, _ := s.session(t)
	for _, tt := range []struct {
		reason string
		keys   [][]byte
		status int
	}{
		{"nothing changed", [][]byte{first}, http.StatusOK},
		{"the key before is still good", [][]byte{second, first}, http.StatusOK},
		{"the one before that is not", [][]byte{third, second}, http.StatusUnauthorized},
	} {
		keys.all = tt.keys
		subscription := get(url.Values{"query": {threeEvents}})
		subscription.header, subscription.token = http.Header{"Cookie": {cookie}}, "none"
		if open := s.open(t, subscription); open.StatusCode != tt.status {
			t.Errorf("%s: HTTP %d, want %d", tt.reason, open.StatusCode, tt.status)
		}
	}
}

// withSession serves with a secret for sessions, and a clock.
func withSession(t *testing.T, now *time.Time) testServer {
	t.Helper()
	return start(t, nil, func(c *server.Config) {
		c.SessionKeys = &sessionKeys{all: [][]byte{[]byte("the secret that all replicas share")}}
		c.Now = func() time.Time { return *now }
	})
}

// session signs in, and returns what the browser would send back.
func (s testServer) session(t *testing.T) (cookie string, attributes string) {
	t.Helper()
	r := s.do(t, call{path: session.Path})
	if r.status != http.StatusNoContent {
		t.Fatalf("HTTP %d %s", r.status, r.body)
	}
	cookie, attributes, _ = strings.Cut(r.header.Get("Set-Cookie"), ";")
	return cookie, attributes
}

func TestSession(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := withSession(t, &now)
	cookie, attributes := s.session(t)
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/graphql"} {
		if !strings.Contains(attributes, want) {
			t.Errorf("the cookie has no %s: %s", want, attributes)
		}
	}
	if strings.Contains(cookie, "admin") {
		t.Errorf("the cookie shows the token: %s", cookie)
	}
	other := withSession(t, &now)
	changed := cookie[:len(cookie)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(cookie, "A")]
	subscription, query := url.Values{"query": {threeEvents}}, url.Values{"query": {"{hello}"}}
	for _, tt := range []struct {
		name   string
		server testServer
		call   call
		header http.Header
		later  time.Duration
		status int
		why    string
	}{
		{name: "subscription", server: s, call: get(subscription), status: 200, why: "that is what it is for"},
		{name: "another replica", server: other, call: get(subscription), status: 200, why: "replicas remember nothing"},
		{name: "query", server: s, call: get(query), status: 403, why: "other operations need the header"},
		{name: "POST", server: s, call: call{body: operation(t, threeEvents, nil)}, status: 401, why: "an EventSource sends GET"},
		{name: "JSON", server: s, call: call{method: http.MethodGet, path: "/graphql?" + query.Encode(), accept: plainJSON}, status: 401, why: "an EventSource accepts events"},
		{name: "another site", server: s, call: get(subscription), header: http.Header{"Sec-Fetch-Site": {"same-site"}}, status: 401, why: "another host of the same site is another page"},
		{name: "typed by a person", server: s, call: get(subscription), header: http.Header{"Sec-Fetch-Site": {"none"}}, status: 401, why: "a link from elsewhere looks so too"},
		{name: "another origin", server: s, call: get(subscription), header: http.Header{"Origin": {"https://evil.example"}}, status: 401, why: "the same in a browser that says less"},
		{name: "its own page", server: s, call: get(subscription), header: http.Header{"Sec-Fetch-Site": {"same-origin"}}, status: 200, why: "that is whose it is"},
		{name: "changed", server: s, call: get(subscription), header: http.Header{"Cookie": {changed}}, status: 401, why: "no other can make one"},
		{name: "made up", server: s, call: get(subscription), header: http.Header{"Cookie": {"kairship_stream=YWRtaW4"}}, status: 401, why: "no other can make one"},
		{name: "just in time", server: s, call: get(subscription), later: 12*time.Hour - time.Second, status: 200, why: "it lives twelve hours"},
		{name: "too late", server: s, call: get(subscription), later: 12 * time.Hour, status: 401, why: "it lives twelve hours"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := now
			now = now.Add(tt.later)
			defer func() { now = begin }()
			header := http.Header{"Cookie": {cookie}}
			maps.Copy(header, tt.header)
			tt.call.header, tt.call.token = header, "none"
			open := tt.server.open(t, tt.call)
			if open.StatusCode != tt.status {
				t.Errorf("HTTP %d, want %d: %s", open.StatusCode, tt.status, tt.why)
			}
			if tt.status == 200 && len(open.all(t)) != 4 {
				t.Error("not all of the events came")
			}
		})
	}
}

func TestSessionIsGivenOut(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := withSession(t, &now)
	for _, tt := range []struct {
		name   string
		call   call
		status int
	}{
		{"no token", call{token: "none", path: session.Path}, 401},
		{"a cookie is no token", call{token: "none", path: session.Path, header: http.Header{"Cookie": {func() string { c, _ := s.session(t); return c }()}}}, 401},
		{"not served", call{token: "mallory", path: session.Path}, 403},
		{"it is unknown", call{token: "undecided", path: session.Path}, 503},
		{"GET", call{method: http.MethodGet, path: session.Path}, 405},
		{"signing out", call{method: http.MethodDelete, token: "none", path: session.Path}, 204},
	} {
		r := s.do(t, tt.call)
		if r.status != tt.status {
			t.Errorf("%s: HTTP %d %s, want %d", tt.name, r.status, r.body, tt.status)
		}
		if set := r.header.Get("Set-Cookie"); (set != "") != (tt.status == 204) || (set != "" && !strings.Contains(set, "Max-Age=0")) {
			t.Errorf("%s: Set-Cookie: %q", tt.name, set)
		}
	}
	broken := start(t, nil, func(c *server.Config) {
		c.SessionKeys = &sessionKeys{err: errors.New("no such Secret")}
	})
	if r := broken.do(t, call{path: session.Path}); r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "no such Secret") {
		t.Errorf("without its secret: HTTP %d %s", r.status, r.body)
	}
}

// TestSessionBehindTLS gives out a cookie that no other host of the domain can replace.
func TestSessionBehindTLS(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := withSession(t, &now)
	encrypted := http.Header{"X-Forwarded-Proto": {"https"}}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		set := s.do(t, call{method: method, path: session.Path, header: encrypted}).header.Get("Set-Cookie")
		for _, want := range []string{"__Host-kairship_stream=", "; Path=/;", "; Secure", "; HttpOnly", "; SameSite=Strict"} {
			if !strings.Contains(set, want) {
				t.Errorf("%s: Set-Cookie %q has no %q, without which browsers refuse the prefix", method, set, want)
			}
		}
		if strings.Contains(set, "Domain") {
			t.Errorf("%s: Set-Cookie %q has a domain, with which browsers refuse the prefix", method, set)
		}
	}
	set := s.do(t, call{path: session.Path, header: encrypted}).header.Get("Set-Cookie")
	cookie, _, _ := strings.Cut(set, ";")
	bare := strings.TrimPrefix(cookie, "__Host-")
	for _, tt := range []struct {
		cookie string
		header http.Header
		status int
		why    string
	}{
		{cookie, encrypted, 200, "it is the cookie that was given out"},
		{bare, encrypted, 401, "any host of the domain can set this name, and over plain HTTP"},
		{bare + "; " + cookie, encrypted, 200, "one that another host adds does not count"},
		{cookie, nil, 401, "without TLS no browser would have taken it"},
	} {
		header := http.Header{"Cookie": {tt.cookie}}
		maps.Copy(header, tt.header)
		subscription := get(url.Values{"query": {threeEvents}})
		subscription.header, subscription.token = header, "none"
		if open := s.open(t, subscription); open.StatusCode != tt.status {
			t.Errorf("%q: HTTP %d, want %d: %s", tt.cookie, open.StatusCode, tt.status, tt.why)
		}
	}
}
