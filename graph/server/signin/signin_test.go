package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server/signin"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

type keys struct{ key []byte }

func (k keys) Key(context.Context) ([]byte, error) { return k.key, nil }

func (k keys) Find(_ context.Context, id [consistency.KeyIDSize]byte) ([]byte, error) {
	if consistency.KeyID(k.key) != id {
		return nil, nil
	}
	return k.key, nil
}

// signedOut remembers in memory.
type signedOut map[string]time.Time

func (s signedOut) Since(_ context.Context, subject string) (time.Time, error) {
	return s[subject], nil
}

func (s signedOut) Set(_ context.Context, subject string, at time.Time) error {
	s[subject] = at
	return nil
}

// browser is a browser with a page of the server open.
type browser struct {
	t        *testing.T
	provider *fakeProvider
	handler  *signin.Handler
	cookies  map[string]string
	now      time.Time
	out      signedOut
	log      *bytes.Buffer
	identify error
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{t: t, provider: newFakeProvider(t), cookies: map[string]string{}, now: time.Now(), out: signedOut{}, log: &bytes.Buffer{}}
	b.handler = signin.New(signin.Options{
		Provider: &signin.Provider{
			Issuer: b.provider.URL, ClientID: "kairship", Scopes: []string{"profile"}, Client: b.provider.Client(),
			Secret: func() (string, error) { return "", nil },
		},
		Keys: keys{bytes.Repeat([]byte{1}, 32)}, Life: 12 * time.Hour, SignedOut: b.out,
		Identify: func(context.Context, string) (authz.User, error) { return authz.User{Name: "alice"}, b.identify },
		Logger:   slog.New(slog.NewTextHandler(b.log, nil)),
		Now:      func() time.Time { return b.now },
	})
	return b
}

// send sends a request with the browser's cookies, as a page of a site does.
func (b *browser) send(method, path, body string, header http.Header) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		b.cookies[c.Name] = c.Value
	}
	return w
}

// post is what a page of this server sends.
func (b *browser) post(path, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.send(http.MethodPost, path, body, http.Header{"Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-origin"}})
}

// begin begins a sign-in and returns where the browser is sent to.
func (b *browser) begin(back string) string {
	b.t.Helper()
	w := b.send(http.MethodGet, "/session/signin?return="+url.QueryEscape(back), "", nil)
	if w.Code != http.StatusFound {
		b.t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	return w.Header().Get("Location")
}

// signIn signs in, and returns the path that the browser is at then.
func (b *browser) signIn(back string) string {
	b.t.Helper()
	return b.send(http.MethodGet, "/session/callback?"+b.provider.authorize(b.begin(back)).Encode(), "", nil).Header().Get("Location")
}

// bearer is the Authorization header that a request of some site goes on with.
func (b *browser) bearer(header http.Header) string {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/graphql", http.NoBody)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	maps.Copy(r.Header, header)
	var got string
	b.handler.Bearer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

// socket is the Authorization header that a request to the native API of an instance goes on with.
func (b *browser) socket(header http.Header) string {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080/instances/alpha/proxy/api", http.NoBody)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	maps.Copy(r.Header, header)
	return b.handler.Socket(r).Header.Get("Authorization")
}

func (b *browser) state() (s signin.State) {
	b.t.Helper()
	if err := json.NewDecoder(b.send(http.MethodGet, "/session", "", nil).Body).Decode(&s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestSignIn(t *testing.T) {
	b := newBrowser(t)
	if s := b.state(); s.SignIn != "/session/signin" || s.ExpiresAt != nil {
		t.Errorf("before: %+v", s)
	}
	if at := b.signIn("/workloads?health=DEGRADED"); at != "/workloads?health=DEGRADED" {
		t.Fatalf("signing in leads to %s\n%s", at, b.log)
	}
	if s := b.state(); s.ExpiresAt == nil || s.EndsAt == nil || s.EndsAt.Sub(b.now).Round(time.Hour) != 12*time.Hour {
		t.Errorf("after: %+v", s)
	}
	first := b.bearer(nil)
	if !strings.HasPrefix(first, "Bearer ey") {
		t.Fatalf("a request goes on with %q", first)
	}
	for name, value := range b.cookies {
		if strings.Contains(value, "ey") && strings.Contains(first, value) {
			t.Errorf("the cookie %s shows the token", name)
		}
	}
	if w := b.post("/session/renew", "{}"); w.Code != http.StatusOK {
		t.Fatalf("renewing: HTTP %d: %s\n%s", w.Code, w.Body, b.log)
	}
	if second := b.bearer(nil); second == first || second == "" {
		t.Error("renewing brought no new token")
	}
	w := b.post("/session/signout", `{"everywhere": false}`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), b.provider.URL+"/end?client_id=kairship") {
		t.Errorf("signing out: HTTP %d: %s", w.Code, w.Body)
	}
	if got := b.bearer(nil); got != "" || len(b.provider.revoked) != 1 || len(b.cookies) != 0 {
		t.Errorf("after signing out: %q, %v revoked, %v", got, b.provider.revoked, b.cookies)
	}
	if strings.Contains(b.log.String(), "ey") || !strings.Contains(b.log.String(), "alice") {
		t.Errorf("the log:\n%s", b.log)
	}
}

// TestOtherSites has no page of another site do anything with the cookie.
func TestOtherSites(t *testing.T) {
	b := newBrowser(t)
	b.signIn("/")
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Sec-Fetch-Site": {"none"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}},
		{"Authorization": {"Basic eA=="}, "Sec-Fetch-Site": {"same-origin"}},
	} {
		if got := b.bearer(header); strings.HasPrefix(got, "Bearer") {
			t.Errorf("%v has the token", header)
		}
		for _, path := range []string{"/session/renew", "/session/signout"} {
			header := header.Clone()
			header.Del("Authorization")
			if len(header) == 1 && header.Get("Sec-Fetch-Site") == "same-origin" {
				header.Set("Content-Type", "text/plain")
			} else {
				header.Set("Content-Type", "application/json")
			}
			if w := b.send(http.MethodPost, path, "{}", header); w.Code != http.StatusForbidden {
				t.Errorf("%s with %v: HTTP %d", path, header, w.Code)
			}
		}
	}
	if got := b.bearer(http.Header{"Sec-Fetch-Site": {"same-origin"}}); got == "" {
		t.Error("the own page has no token any more")
	}
}

// TestSocket lets the own page open WebSockets with its session, and do nothing else.
func TestSocket(t *testing.T) {
	b := newBrowser(t)
	b.signIn("/")
	own := func(more http.Header) http.Header {
		h := http.Header{"Upgrade": {"websocket"}, "Origin": {"http://127.0.0.1:8080"}, "Sec-Fetch-Site": {"same-origin"}}
		maps.Copy(h, more)
		return h
	}
	if got := b.socket(own(nil)); !strings.HasPrefix(got, "Bearer ey") {
		t.Errorf("a WebSocket of the own page goes on with %q", got)
	}
	for name, header := range map[string]http.Header{
		"no WebSocket":           own(http.Header{"Upgrade": nil}),
		"another upgrade":        own(http.Header{"Upgrade": {"SPDY/3.1"}}),
		"no origin":              own(http.Header{"Origin": nil}),
		"another origin":         own(http.Header{"Origin": {"https://evil.example"}}),
		"an origin without name": own(http.Header{"Origin": {"null"}}),
		"another site":           own(http.Header{"Sec-Fetch-Site": {"cross-site"}}),
		"a neighbour":            own(http.Header{"Sec-Fetch-Site": {"same-site"}}),
	} {
		if got := b.socket(header); got != "" {
			t.Errorf("%s: it has the token", name)
		}
	}
	var without *signin.Handler
	if r := httptest.NewRequest(http.MethodGet, "/", http.NoBody); without.Socket(r) != r {
		t.Error("without sign-in, a request is changed")
	}
}

// TestReturn sends a person back to a page of this server alone.
func TestReturn(t *testing.T) {
	for back, want := range map[string]string{
		"/": "/", "/a/b?c=d": "/a/b?c=d", "": "/", "https://evil.example/": "/", "//evil.example": "/", "/\\evil.example": "/", "\\\\evil.example": "/",
		"javascript:alert(1)": "/", "/%2F/evil.example": "/", "/a\r\nSet-Cookie: x=y": "/", "///evil.example": "/", "a": "/", "/a#b": "/a",
	} {
		if at := newBrowser(t).signIn(back); at != want {
			t.Errorf("%q: a person is sent to %q, want %q", back, at, want)
		}
	}
}

// TestFailed tells the page why a sign-in failed, and signs no one in.
func TestFailed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(b *browser, query url.Values)
		want   string
	}{
		"the person declined":           {func(_ *browser, q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, "denied"},
		"a state of another sign-in":    {func(_ *browser, q url.Values) { q.Set("state", "other") }, "expired"},
		"no state":                      {func(_ *browser, q url.Values) { q.Del("state") }, "expired"},
		"a code of another sign-in":     {func(_ *browser, q url.Values) { q.Set("code", "other") }, "denied"},
		"another browser":               {func(b *browser, _ url.Values) { clear(b.cookies) }, "expired"},
		"too late":                      {func(b *browser, _ url.Values) { b.now = b.now.Add(11 * time.Minute) }, "expired"},
		"a nonce of another sign-in":    {func(b *browser, _ url.Values) { b.provider.nonce = "other" }, "denied"},
		"a token for another client":    {func(b *browser, _ url.Values) { b.provider.audience = "other" }, "unavailable"},
		"the provider has a problem":    {func(b *browser, _ url.Values) { b.provider.status = http.StatusBadGateway }, "unavailable"},
		"the provider is away":          {func(b *browser, _ url.Values) { b.provider.Close() }, "unavailable"},
		"the cluster doesn't trust it":  {func(b *browser, _ url.Values) { b.identify = apierror.New(apierror.CodeUnauthenticated, "x") }, "refused"},
		"the global cluster is away":    {func(b *browser, _ url.Values) { b.identify = apierror.New(apierror.CodeTimeout, "x") }, "unavailable"},
		"an error that is none of ours": {func(b *browser, _ url.Values) { b.identify = errors.New("x") }, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t)
			query := b.provider.authorize(b.begin("/clusters"))
			tt.change(b, query)
			at := b.send(http.MethodGet, "/session/callback?"+query.Encode(), "", nil).Header().Get("Location")
			u, err := url.Parse(at)
			if err != nil || u.Query().Get("signin") != tt.want {
				t.Errorf("a person is sent to %q, want the reason %s\n%s", at, tt.want, b.log)
			}
			if b.bearer(nil) != "" {
				t.Error("they are signed in")
			}
			if strings.Contains(b.log.String(), "secret-of-the-provider") {
				t.Errorf("the log repeats what the provider said:\n%s", b.log)
			}
		})
	}
}

// TestRenew ends a session that cannot be renewed, and keeps one where the provider does not answer.
func TestRenew(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(b *browser)
		status int
		signed bool
	}{
		"the provider refuses":        {func(b *browser) { clear(b.provider.refreshes) }, http.StatusUnauthorized, false},
		"the token is another's":      {func(b *browser) { b.provider.subject = "bob" }, http.StatusUnauthorized, false},
		"the provider has a problem":  {func(b *browser) { b.provider.status = http.StatusBadGateway }, http.StatusServiceUnavailable, true},
		"signed out everywhere":       {func(b *browser) { b.out["alice"] = b.now.Add(time.Minute) }, http.StatusUnauthorized, false},
		"another signed out":          {func(b *browser) { b.out["bob"] = b.now.Add(time.Minute) }, http.StatusOK, true},
		"the session is at its end":   {func(b *browser) { b.now = b.now.Add(12 * time.Hour) }, http.StatusUnauthorized, false},
		"there is no session":         {func(b *browser) { clear(b.cookies) }, http.StatusUnauthorized, false},
		"the cookie is not from here": {func(b *browser) { b.cookies["kairship_session"] = "x" }, http.StatusUnauthorized, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t)
			b.signIn("/")
			tt.change(b)
			if w := b.post("/session/renew", "{}"); w.Code != tt.status {
				t.Errorf("HTTP %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if signed := b.bearer(nil) != ""; signed != tt.signed {
				t.Errorf("signed in: %v", signed)
			}
		})
	}
}

// TestEverywhere refuses the tokens that were issued before a person signed out everywhere, wherever they are.
func TestEverywhere(t *testing.T) {
	b := newBrowser(t)
	b.signIn("/")
	token := strings.TrimPrefix(b.bearer(nil), "Bearer ")
	tokens := signin.Authenticator{Tokens: everyone{}, Issuer: b.provider.URL, SignedOut: b.out}
	check := func(token string, want apierror.Code) {
		t.Helper()
		for name, ask := range map[string]func(context.Context, authz.Credentials) (authz.User, error){"Authenticate": tokens.Authenticate, "Recheck": tokens.Recheck} {
			if _, err := ask(t.Context(), authz.TokenCredentials(token)); err != nil && apierror.CodeOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	check(token, "")
	b.now = b.now.Add(2 * time.Second)
	if w := b.post("/session/signout", `{"everywhere": true}`); w.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	check(token, apierror.CodeUnauthenticated)
	check("static", "")
	check("a.b.c", "")
	b.provider.subject = "bob"
	check(b.provider.sign(""), "")
	for _, body := range []string{"", "[]", `{"everywhere": "x"}`, strings.Repeat(" ", 10000)} {
		if w := b.post("/session/signout", body); w.Code != http.StatusBadRequest {
			t.Errorf("%.20q: HTTP %d", body, w.Code)
		}
	}
}

// everyone takes every token.
type everyone struct{}

func (everyone) Authenticate(context.Context, authz.Credentials) (authz.User, error) {
	return authz.User{Name: "alice"}, nil
}

func (everyone) Recheck(context.Context, authz.Credentials) (authz.User, error) {
	return authz.User{Name: "alice"}, nil
}

// TestWithoutProvider offers no sign-in.
func TestWithoutProvider(t *testing.T) {
	handler := signin.New(signin.Options{Now: time.Now})
	for path, want := range map[string]int{"/session": http.StatusOK, "/session/signin": http.StatusNotFound, "/session/callback": http.StatusNotFound} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if body, _ := io.ReadAll(w.Body); w.Code != want || want == http.StatusOK && !strings.Contains(string(body), `"signIn":""`) {
			t.Errorf("%s: HTTP %d: %s", path, w.Code, body)
		}
	}
}
