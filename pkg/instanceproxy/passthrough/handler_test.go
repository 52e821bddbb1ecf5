package passthrough_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
)

// global is a global cluster that knows some people by their tokens.
type global struct {
	authorizationclient.SubjectAccessReviewInterface

	mu     sync.Mutex
	people map[string]authz.User
	// verbs of instances/proxy on alpha, by user; the users in it may see alpha.
	verbs map[string][]string
	// impersonates are "caller resource/name".
	impersonates map[string]bool
	// asked is how often credentials were asked about.
	asked int
	// away: nothing is answered.
	away bool
}

func (g *global) Authenticate(_ context.Context, c authz.Credentials) (authz.User, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if g.away {
		return authz.User{}, apierror.New(apierror.CodeTimeout, "no answer")
	}
	for token, user := range g.people {
		if c == authz.TokenCredentials(token) {
			return user, nil
		}
	}
	return authz.User{}, apierror.New(apierror.CodeUnauthenticated, "who are you")
}

func (g *global) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	verbs, sees := g.verbs[u.Name]
	status := &authorizationv1.SubjectRulesReviewStatus{}
	if sees {
		status.ResourceRules = []authorizationv1.ResourceRule{
			{APIGroups: []string{"kairship.io"}, Resources: []string{"instances"}, ResourceNames: []string{"alpha"}, Verbs: []string{"get"}},
			{APIGroups: []string{"kairship.io"}, Resources: []string{"instances/proxy"}, ResourceNames: []string{"alpha"}, Verbs: verbs},
		}
		if u.Name == "editor" {
			status.ResourceRules = append(status.ResourceRules,
				authorizationv1.ResourceRule{APIGroups: []string{"kairship.io"}, Resources: []string{"instances/resources"}, ResourceNames: []string{"alpha"}, Verbs: verbs})
		}
	}
	return status, nil
}

func (g *global) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := review.Spec.ResourceAttributes
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	if a.Namespace != "" {
		what += " " + a.Namespace
	}
	review.Status.Allowed = a.Verb == "impersonate" && g.impersonates[fmt.Sprintf("%s %s %s", review.Spec.User, what, a.Name)]
	return review, nil
}

// revoke takes everything from a user.
// set changes what is answered.
func (g *global) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// wait returns after so many questions more.
func (g *global) wait(t *testing.T, questions int) {
	t.Helper()
	count := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asked
	}
	until := count() + questions
	poll.Until(t, 15*time.Second, "the questions are asked", func(context.Context) error {
		if n := count(); n < until {
			return fmt.Errorf("%d questions, want %d", n, until)
		}
		return nil
	})
}

func (g *global) revoke(user string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.verbs, user)
}

// scene is the passthrough before an instance alpha.
type scene struct {
	*global
	url string
	log lines
}

// lines are what is logged, line by line.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func newScene(t *testing.T, instance http.HandlerFunc, tune func(*passthrough.Config)) *scene {
	t.Helper()
	everything := []string{"get", "create", "update", "patch", "delete"}
	s := &scene{log: make(lines, 1000), global: &global{
		people: map[string]authz.User{
			"t-alice": {Name: "alice", Groups: []string{"dev"}}, "t-reader": {Name: "reader"}, "t-viewer": {Name: "viewer"},
			"t-mallory": {Name: "mallory"}, "t-admin": {Name: "admin"}, "t-editor": {Name: "editor"},
		},
		verbs: map[string][]string{"alice": everything, "reader": {"get"}, "viewer": nil, "admin": everything, "editor": everything, "system:serviceaccount:ci:bot": everything},
		impersonates: map[string]bool{
			"admin users alice": true, "admin users mallory": true, "admin groups dev": true, "admin serviceaccounts ci bot": true,
			"admin uids u-1": true, "admin userextras/scopes all": true,
		},
	}}
	config := passthrough.Config{
		Clients:       fake.New(t, map[string]http.Handler{"alpha": instance}),
		Authenticator: s.global,
		Permissions:   authz.NewResolver(s.global, s.global, nil, nil),
		Reviews:       s.global,
		Audit:         &audit.Log{Logger: slog.New(slog.NewJSONHandler(s.log, nil)), Exists: func(_ context.Context, name string) bool { return name == "alpha" }},
		Logger:        slog.New(slog.DiscardHandler),
		Quotas:        quota.New(quota.Limits{}, nil),
	}
	if tune != nil {
		tune(&config)
	}
	h, err := passthrough.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !passthrough.Serves(r) {
			http.Error(w, "not ours", http.StatusTeapot)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *scene) do(t *testing.T, token, method, path string, body io.Reader, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Add(header[n], header[n+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(raw)
}

// mirror returns what an instance got.
func mirror(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Set-Cookie", "a=b")
	w.Header().Set("Audit-Id", "1")
	fmt.Fprintf(w, "%s %s as %s %v: %s", r.Method, r.RequestURI, r.Header.Get("Impersonate-User"), r.Header.Values("Impersonate-Group"), body)
}

func TestAdmission(t *testing.T) {
	s := newScene(t, mirror, nil)
	const path = "/instances/alpha/proxy/api/v1/pods"
	as := func(pairs ...string) []string { return pairs }
	for _, tt := range []struct {
		token, method, path string
		header              []string
		status              int
		says, why           string
	}{
		{"t-alice", "GET", path, nil, 200, "GET /api/v1/pods as alice [dev]: ", "as herself"},
		{"t-alice", "GET", path + "?labelSelector=a%3Db&limit=5&x;y", nil, 200, "/api/v1/pods?labelSelector=a%3Db&limit=5&x;y as", "a query is not touched"},
		{"t-alice", "GET", "/instances/alpha/proxy", nil, 200, "GET / as", "the root"},
		{"t-alice", "GET", "/instances/alpha/proxy/", nil, 200, "GET / as", "the root"},
		{"t-alice", "GET", "/instances/alpha/proxy//a//b%2Fc/", nil, 200, "GET //a//b%2Fc/ as", "a path is not touched"},
		{"t-alice", "GET", "/instances/alpha/proxy/a/../b", nil, 400, "INVALID", "a proxy that cleans it on the way asks for something else"},
		{"t-alice", "GET", "/instances/alpha/proxy/a/%2e%2e/b", nil, 400, "INVALID", "the same in disguise"},
		{"t-alice", "GET", "/instances/alpha/proxying", nil, 418, "", "another path"},
		{"t-alice", "GET", "/instances/alpha", nil, 418, "", "another path"},
		{"t-reader", "GET", path, nil, 200, "as reader", "get is permitted"},
		{"t-reader", "HEAD", path, nil, 200, "", "it is a get"},
		{"t-reader", "POST", path, nil, 403, `cannot create instances/proxy`, "create is not"},
		{"t-reader", "DELETE", path, nil, 403, `cannot delete instances/proxy`, "nor is delete"},
		{"t-reader", "PATCH", path, nil, 403, `cannot patch instances/proxy`, "nor is patch"},
		{"t-alice", "BREW", path, nil, 403, "FORBIDDEN", "no user may use an unknown verb"},
		{"t-viewer", "GET", path, nil, 403, "FORBIDDEN", "sees the instance, and has no passthrough"},
		{"t-mallory", "GET", path, nil, 404, `instance \"alpha\" was not found`, "may not know of it"},
		{"t-alice", "GET", "/instances/omega/proxy/api", nil, 404, `instance \"omega\" was not found`, "is not there"},
		{"t-alice", "GET", "/instances/alpha:shop/proxy/api", nil, 404, "NOT_FOUND", "no name of an instance"},
		{"nobody", "GET", path, nil, 401, "UNAUTHENTICATED", "a wrong token"},
		{"", "GET", path, nil, 401, "UNAUTHENTICATED", "no token"},
		{"t-alice", "GET", path, as("Impersonate-User", "mallory"), 403, "cannot impersonate users", "may not impersonate"},
		{"t-alice", "GET", path, as("Impersonate-Foo", "x"), 403, "FORBIDDEN", "an attribute that is yet to be invented"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice"), 200, "as alice [system:authenticated]", "may, and Kubernetes adds the group"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-Group", "dev"), 200, "as alice [dev system:authenticated]", "a group that is permitted"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-Group", "dev", "Impersonate-Group", "system:masters"), 403, "cannot impersonate groups", "a group that is not"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-Uid", "u-1", "Impersonate-Extra-Scopes", "all"), 200, "as alice", "uid and extra that are permitted"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-Uid", "u-2"), 403, "cannot impersonate uids", "a uid that is not"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-Extra-Scopes", "more"), 403, "cannot impersonate userextras", "an extra that is not"},
		{"t-admin", "GET", path, as("Impersonate-User", "mallory"), 404, "NOT_FOUND", "is mallory then, who sees nothing"},
		{"t-admin", "GET", path, as("Impersonate-User", "system:serviceaccount:ci:bot"), 200, "[system:serviceaccounts system:serviceaccounts:ci system:authenticated]", "a service account has its groups"},
		{"t-admin", "GET", path, as("Impersonate-Group", "dev"), 403, "name no user", "a group is no user"},
		{"t-admin", "GET", path, as("Impersonate-User", "alice", "Impersonate-User", "bob"), 403, "name no user", "two are no user"},
		{"t-alice", "POST", path, as("Origin", "https://evil.example"), 403, "other sites", "a page of another site"},
		{"t-alice", "GET", path, as("Sec-Fetch-Site", "cross-site", "Upgrade", "websocket", "Connection", "Upgrade"), 403, "other sites", "a WebSocket can do anything"},
	} {
		response, body := s.do(t, tt.token, tt.method, tt.path, nil, tt.header...) //nolint:bodyclose // do closes it.
		if response.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s %s %v: HTTP %d %s, want %d %q: %s", tt.token, tt.method, tt.path, tt.header, response.StatusCode, body, tt.status, tt.says, tt.why)
			continue
		}
		if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" && tt.status != http.StatusTeapot {
			t.Errorf("%s %s: X-Content-Type-Options is %q, want nosniff", tt.method, tt.path, got)
		}
		if tt.status == 200 {
			if response.Header.Get("Set-Cookie") != "" || response.Header.Get("Audit-Id") == "" {
				t.Errorf("headers %v: cookies must not pass, others must", response.Header)
			}
			continue
		}
		if tt.status == http.StatusTeapot {
			continue
		}
		var status metav1.Status
		if err := json.Unmarshal([]byte(body), &status); err != nil || status.Kind != "Status" || int(status.Code) != tt.status ||
			string(status.Details.Causes[0].Type) != response.Header.Get(passthrough.CodeHeader) {
			t.Errorf("%s %s: not a Status that agrees with its response: %v %s", tt.method, tt.path, err, body)
		}
	}
}

func TestAuditLine(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "hunter2") {
			w.WriteHeader(http.StatusNotFound)
		}
	}, nil)
	for _, tt := range []struct {
		token, method, path string
		want                map[string]any
	}{
		{"t-alice", "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale?secret=hunter2",
			map[string]any{"user": "alice", "via": "passthrough", "operation": "patch deployments.apps/scale", "type": "PATCH", "decision": "allowed", "instances": []any{"alpha"}, "status": 200.0}},
		{"t-alice", "GET", "/api/v1/hunter2", map[string]any{"user": "alice", "via": "passthrough", "operation": "get", "type": "GET", "decision": "allowed", "instances": []any{"alpha"}, "status": 404.0}},
		{"t-mallory", "GET", "/api/v1/pods", map[string]any{"user": "mallory", "via": "passthrough", "operation": "get", "type": "GET", "decision": "denied", "instances": []any{}, "status": 404.0}},
	} {
		s.do(t, tt.token, tt.method, "/instances/alpha/proxy"+tt.path, nil) //nolint:bodyclose // do closes it.
		written := <-s.log                                                  // It is written when the answer is out.
		var line map[string]any
		if err := json.Unmarshal([]byte(written), &line); err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		for key := range tt.want {
			got[key] = line[key]
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || strings.Contains(written, "hunter2") {
			t.Errorf("%s: %s\n%s", tt.path, diff, written)
		}
	}
}

// TestLineOfUnknownCallers has a line for what is refused before the caller is known.
func TestLineOfUnknownCallers(t *testing.T) {
	log := make(lines, 10)
	s := newScene(t, mirror, func(c *passthrough.Config) { c.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
	s.do(t, "hunter2", http.MethodGet, "/instances/alpha/proxy/api/v1/hunter2", nil) //nolint:bodyclose // do closes it.
	written := <-log
	var line map[string]any
	if err := json.Unmarshal([]byte(written), &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != "passthrough request" || line["status"] != 401.0 || line["outcome"] != "refused" || strings.Contains(written, "hunter2") {
		t.Errorf("want the refusal, and nothing that the caller sent: %s", written)
	}
	if len(s.log) != 0 {
		t.Errorf("the audit has a line about a caller who is not known: %s", <-s.log)
	}
}

// What comes in pieces goes out in pieces, in both directions.
func TestStreams(t *testing.T) {
	received := make(chan string, 10)
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.WriteHeader(http.StatusOK)
		_ = control.Flush()
		for scanner := bufio.NewScanner(r.Body); scanner.Scan(); {
			received <- scanner.Text()
			fmt.Fprintln(w, "got", scanner.Text())
			_ = control.Flush()
		}
	}, nil)
	body, send := io.Pipe()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/instances/alpha/proxy/api/v1/x", body)
	r.Header.Set("Authorization", "Bearer t-alice")
	go func() { fmt.Fprintln(send, "one") }()
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := <-received; got != "one" {
		t.Errorf("the instance got %q", got)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "got one\n" {
		t.Errorf("%q %v: an event waits for the next", line, err)
	}
	_ = send.Close()
}

// A browser brings its token as a subprotocol; the instance must not see it.
func TestWebSocket(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		fmt.Fprintf(conn, "%s %q\n", r.Header.Get("Impersonate-User"), r.Header.Get("Sec-WebSocket-Protocol"))
		_, _ = io.Copy(conn, buffered)
	}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	token := base64.RawURLEncoding.EncodeToString([]byte("t-alice"))
	fmt.Fprintf(conn, "GET /instances/alpha/proxy/api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: kairship\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.%s\r\n\r\n", token)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil) //nolint:bodyclose // The connection is closed.
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%+v %v", response, err)
	}
	fmt.Fprintln(conn, "hello")
	for _, want := range []string{"alice \"v4.channel.k8s.io\"\n", "hello\n"} {
		if line, err := reader.ReadString('\n'); err != nil || line != want {
			t.Errorf("%q %v, want %q", line, err, want)
		}
	}
}

func TestUnavailable(t *testing.T) {
	s := newScene(t, nil, func(c *passthrough.Config) {
		c.Clients = fake.New(t, map[string]http.Handler{"alpha": fake.Unavailable})
	})
	response, body := s.do(t, "t-alice", "GET", "/instances/alpha/proxy/api", nil) //nolint:bodyclose // do closes it.
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get(passthrough.CodeHeader) != "INSTANCE_UNAVAILABLE" ||
		response.Header.Get("Retry-After") != "" || strings.Contains(body, "connection refused") {
		t.Errorf("HTTP %d %v %s", response.StatusCode, response.Header, body)
	}
}

// client-go shows no Status of its first question, but plain text.
func TestRefusedDiscovery(t *testing.T) {
	s := newScene(t, mirror, nil)
	_, body := s.do(t, "t-viewer", "GET", "/instances/alpha/proxy/api", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json") //nolint:bodyclose // do closes it.
	if !strings.HasPrefix(body, `user "viewer" cannot get instances/proxy`) {
		t.Errorf("%s", body)
	}
}
