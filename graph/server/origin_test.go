package server_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/pkg/authz"
)

const (
	console = "https://console.example.com"
	evil    = "https://evil.example.com"
)

// anyCaller accepts every caller, as the certificate does that a browser sends automatically
// whatever the page.
type anybody struct{ fakeAuth }

func (anybody) Authenticate(context.Context, authz.Credentials) (authz.User, error) {
	return authz.User{Name: "admin"}, nil
}

// newHandler is the server without a connection.
func newHandler(t *testing.T, change func(*server.Config)) http.Handler {
	t.Helper()
	cfg := server.Config{
		Schema:        testschema.NewExecutableSchema(testschema.Config{Resolvers: resolvers{}}),
		Authenticator: fakeAuth{}, Authorizer: fakeAuth{}, Introspection: true,
		Logger: slog.New(slog.DiscardHandler),
	}
	change(&cfg)
	h, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestSimpleRequests is about those that a page of any site can have a browser send.
func TestSimpleRequests(t *testing.T) {
	const get = "/graphql?query={hello}"
	for _, tt := range []struct {
		name   string
		header http.Header
		served bool
		why    string
	}{
		{"an image of any page", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false, "the browser adds its certificate automatically"},
		{"a page of the same site", http.Header{"Sec-Fetch-Site": {"same-site"}}, false, "another name below the domain is another page"},
		{"a link, or a tool", http.Header{}, false, "old browsers do not say which"},
		{"the own page", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true, "the browser says so"},
		{"a token", http.Header{"Authorization": {"Bearer admin"}}, true, "no browser adds one automatically"},
		{"Apollo's header", http.Header{"Apollo-Require-Preflight": {"1"}}, true, "a page must ask before it sends one"},
		{"Apollo's clients", http.Header{"X-Apollo-Operation-Name": {"Q"}}, true, "the same"},
		{"a content type", http.Header{"Content-Type": {"application/json"}}, true, "the same"},
		{"a form's content type", http.Header{"Content-Type": {"text/plain"}}, false, "a form may have it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(c *server.Config) { c.Authenticator = anybody{} })
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, get, nil)
			r.Header = tt.header.Clone()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch {
			case tt.served && w.Code != http.StatusOK:
				t.Errorf("got %d %s: %s", w.Code, w.Body, tt.why)
			case !tt.served && (w.Code != http.StatusForbidden || codeOf(decode(t, w.Body.String())) != "FORBIDDEN"):
				t.Errorf("got %d %s: %s", w.Code, w.Body, tt.why)
			}
		})
	}
}

func TestCrossOrigin(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.AllowedOrigins = []string{console} })
	preflight := func(origin, method, headers string) http.Header {
		h := http.Header{"Origin": {origin}, "Access-Control-Request-Method": {method}}
		if headers != "" {
			h.Set("Access-Control-Request-Headers", headers)
		}
		return h
	}
	for _, tt := range []struct {
		name    string
		call    call
		allowed bool
		why     string
	}{
		{"preflight", call{method: http.MethodOptions, token: "none", header: preflight(console, "POST", "authorization,content-type")}, true, "the console's page may"},
		{"preflight of a stream", call{method: http.MethodOptions, token: "none", header: preflight(console, "GET", "authorization,last-event-id")}, true, "streams too"},
		{"preflight of another page", call{method: http.MethodOptions, token: "none", header: preflight(evil, "POST", "authorization")}, false, "it is not in the list"},
		{"preflight of no page", call{method: http.MethodOptions, token: "none", header: preflight("null", "POST", "authorization")}, false, "a sandboxed frame of any site has this origin"},
		{"preflight of a name that ends alike", call{method: http.MethodOptions, token: "none", header: preflight("https://evilconsole.example.com", "POST", "authorization")}, false, "origins are compared as a whole"},
		{"preflight without TLS", call{method: http.MethodOptions, token: "none", header: preflight("http://console.example.com", "POST", "authorization")}, false, "the scheme is part of it"},
		{"preflight of another method", call{method: http.MethodOptions, token: "none", header: preflight(console, "TRACE", "")}, false, "there is none"},
		{"preflight of another header", call{method: http.MethodOptions, token: "none", header: preflight(console, "POST", "x-remote-user")}, false, "nothing else is needed"},
		{"answer", call{body: `{"query":"{hello}"}`, header: http.Header{"Origin": {console}}}, true, "the page may read it"},
		{"refusal", call{token: "none", body: `{"query":"{hello}"}`, header: http.Header{"Origin": {console}}}, true, "it has to read why"},
		{"answer for another page", call{body: `{"query":"{hello}"}`, header: http.Header{"Origin": {evil}}}, false, "a request with a token is answered, and the browser does not show it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := s.do(t, tt.call)
			want := ""
			if tt.allowed {
				want = console
			}
			if got := r.header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("Access-Control-Allow-Origin %q, want %q: %s", got, want, tt.why)
			}
			if r.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Error("cookies of another origin's page do not count")
			}
			if !strings.Contains(strings.Join(r.header.Values("Vary"), ","), "Origin") {
				t.Errorf("Vary %q does not name Origin", r.header.Values("Vary"))
			}
		})
	}
}

// TestOriginsOfStreams keeps WebSockets and server-sent events to the same list.
func TestOriginsOfStreams(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.AllowedOrigins = []string{console} })
	for _, tt := range []struct {
		origin, site string
		opened       bool
		why          string
	}{
		{"", "", true, "no page sends it"},
		{s.URL, "same-origin", true, "the own page"},
		{console, "cross-site", true, "it is in the list"},
		{evil, "cross-site", false, "it is not"},
		{"null", "cross-site", false, "it may be any page"},
		{"", "cross-site", false, "a page that hides its origin"},
	} {
		header := http.Header{"Authorization": {"Bearer admin"}}
		if tt.origin != "" {
			header.Set("Origin", tt.origin)
		}
		if tt.site != "" {
			header.Set("Sec-Fetch-Site", tt.site)
		}
		if tt.origin != "" || tt.site == "" { // A browser sends the origin with every WebSocket.
			dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
			conn, resp, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/graphql", header)
			if resp != nil {
				resp.Body.Close()
			}
			if (err == nil) != tt.opened {
				t.Errorf("WebSocket of %q: %v: %s", tt.origin, err, tt.why)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
		r := request(t, s, `{"query":"subscription{events(topic:\"a\"){n}}"}`)
		maps.Copy(r.Header, header)
		r.Header.Set("Accept", "text/event-stream")
		resp, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if (resp.StatusCode == http.StatusOK) != tt.opened {
			t.Errorf("events for %q from %q: %d: %s", tt.origin, tt.site, resp.StatusCode, tt.why)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	h := newHandler(t, func(c *server.Config) { c.GraphiQL = true; c.HSTS = time.Hour })
	for _, path := range []string{"/graphql", "/graphql/session", "/healthz", "/readyz", "/graphiql", "/", "/nothing"} {
		for _, encrypted := range []bool{false, true} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			if encrypted {
				r.TLS = &tls.ConnectionState{}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
				"Content-Security-Policy": "frame-ancestors 'none'", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := w.Header().Get(name); !strings.Contains(got, want) {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
			if path != "/graphiql" && w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: Cache-Control is %q", path, w.Header().Get("Cache-Control"))
			}
			want := ""
			if encrypted {
				want = "max-age=3600"
			}
			if got := w.Header().Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s, TLS %v: Strict-Transport-Security is %q, want %q", path, encrypted, got, want)
			}
		}
	}
}
