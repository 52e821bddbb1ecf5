package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

const traceID = "0af7651916cd43dd8448eb211c80319c"

// loopback is where the requests of tests come from.
const loopback = "127.0.0.1"

// fakeAuth knows the tokens "admin", "mallory" (who is not served) and "undecided".
type fakeAuth struct{}

var errUndecided = apierror.Wrap(errors.New("dial tcp: connection refused"), apierror.CodeTimeout,
	"the global cluster did not answer the check of your token; try again")

func (fakeAuth) Authenticate(_ context.Context, c authz.Credentials) (authz.User, error) {
	switch c {
	case authz.TokenCredentials("admin").FromSession():
		return authz.User{Name: "admin"}, nil
	case authz.TokenCredentials("admin"), authz.TokenCredentials("mallory"):
		return authz.User{Name: map[bool]string{true: "admin", false: "mallory"}[c == authz.TokenCredentials("admin")]}, nil
	case authz.TokenCredentials("undecided"):
		return authz.User{}, errUndecided
	}
	return authz.User{}, apierror.New(apierror.CodeUnauthenticated, "the token is not valid")
}

func (fakeAuth) CanServe(_ context.Context, u authz.User) error {
	if u.Name != "admin" {
		return apierror.New(apierror.CodeForbidden, "you may not")
	}
	return nil
}

// resolvers answer the test schema; fail returns what errs has under the name.
type resolvers struct {
	errs    map[string]error
	feed    *feed
	changes *changeLog
}

func (r resolvers) Query() testschema.QueryResolver               { return r }
func (r resolvers) Item() testschema.ItemResolver                 { return itemResolvers{r} }
func (r resolvers) Mutation() testschema.MutationResolver         { return r }
func (r resolvers) Changed() testschema.ChangedResolver           { return changedResolvers{r} }
func (r resolvers) Subscription() testschema.SubscriptionResolver { return r }

func (resolvers) Hello(_ context.Context, name *string) (string, error) {
	if name == nil {
		return "hello", nil
	}
	return "hello " + *name, nil
}

func (resolvers) Same(_ context.Context, id string) (string, error) { return id, nil }

func (resolvers) Viewer(ctx context.Context) (*testschema.Viewer, error) {
	u, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, errors.New("no user in the context of a resolver")
	}
	return &testschema.Viewer{Username: u.Name, Groups: []string{"system:authenticated"}}, nil
}

type scopeKey struct{}

func (resolvers) Scope(ctx context.Context) (string, error) {
	s, _ := ctx.Value(scopeKey{}).(string)
	return s, nil
}

func (r resolvers) Fail(_ context.Context, name string) (*string, error) { return nil, r.errs[name] }

func (r resolvers) FailRequired(_ context.Context, name string) (string, error) {
	return "", r.errs[name]
}

func (resolvers) Panic(context.Context) (*string, error) { panic("secret-of-the-panic") }

func (resolvers) Slow(ctx context.Context) (*string, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("list of the index: %w", ctx.Err())
}

func (resolvers) Items(_ context.Context, first *int, _ *testschema.Filter, _ *testschema.Color, _ *testschema.Word) ([]*testschema.Item, error) {
	n := 2
	if first != nil {
		n = *first
	}
	if n < 0 || n > 500 {
		return nil, apierror.Invalid("first", "must be between 0 and 500")
	}
	items := make([]*testschema.Item, n)
	for i := range items {
		items[i] = &testschema.Item{Name: fmt.Sprint("item-", i)}
	}
	return items, nil
}

func (resolvers) Boxes(_ context.Context, first int) (*testschema.BoxPage, error) {
	return boxes(first), nil
}

func (resolvers) Touch(context.Context) (*bool, error) { return new(true), nil }

func (r resolvers) Change(ctx context.Context, name string) (*testschema.Changed, error) {
	r.changes.begin(name)
	if name == "slow" {
		<-ctx.Done()
		return nil, fmt.Errorf("patch of the object: %w", ctx.Err())
	}
	if err := r.errs[name]; err != nil {
		return nil, err
	}
	return &testschema.Changed{Token: "token-" + name}, nil
}

// changeLog has the mutations that were begun, in order.
type changeLog struct {
	mu    sync.Mutex
	begun []string
}

func (c *changeLog) begin(name string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = append(c.begun, name)
}

func (c *changeLog) has(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.begun, name)
}

type changedResolvers struct{ resolvers }

func (r changedResolvers) Fail(_ context.Context, _ *testschema.Changed, name string) (string, error) {
	return "", r.errs[name]
}

func (resolvers) Ticks(context.Context) (<-chan int, error) { return nil, nil }

type itemResolvers struct{ resolvers }

func (r itemResolvers) Fail(_ context.Context, _ *testschema.Item, name string) (*string, error) {
	return nil, r.errs[name]
}

func (itemResolvers) Child(_ context.Context, i *testschema.Item) (*testschema.Item, error) {
	return i, nil
}

// logBuffer collects log lines; requests of one test may overlap.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines are the log lines so far, as JSON objects without their time. Of the addresses
// that requests came from, which have any port, the host stays.
func (l *logBuffer) lines(t *testing.T) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []map[string]any
	for line := range strings.Lines(l.b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		delete(m, "time")
		if from, ok := m["from"].(string); ok {
			host, _, err := net.SplitHostPort(from)
			if err != nil {
				t.Errorf("log line %q: the address: %v", line, err)
			}
			m["from"] = host
		}
		lines = append(lines, m)
	}
	return lines
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type testServer struct {
	*httptest.Server
	log *logBuffer
	// busy are the requests whose handler runs: a handler logs after its client has the response.
	busy    *sync.WaitGroup
	handler *server.Handler
	feed    *feed
	changes *changeLog
}

// start serves the test schema; change may be nil.
func start(t *testing.T, errs map[string]error, change func(*server.Config)) testServer {
	t.Helper()
	log, feeding, changed := &logBuffer{}, &feed{}, &changeLog{}
	cfg := server.Config{
		Schema:        testschema.NewExecutableSchema(testschema.Config{Resolvers: resolvers{errs, feeding, changed}}),
		Authenticator: fakeAuth{},
		Authorizer:    fakeAuth{},
		Introspection: true,
		Logger:        slog.New(slog.NewJSONHandler(log, nil)),
		Now:           func() time.Time { return time.Unix(0, 0) },
		NewTraceID:    func() string { return traceID },
	}
	if change != nil {
		change(&cfg)
	}
	h, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := testServer{log: log, busy: &sync.WaitGroup{}, handler: h, feed: feeding, changes: changed}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.busy.Add(1)
		defer s.busy.Done()
		h.ServeHTTP(w, r)
	}))
	s.Config.ConnContext = subscription.ConnContext
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// call is one request; its zero value is a POST of nothing as admin.
type call struct {
	method      string
	path        string
	token       string
	accept      string
	contentType string
	header      http.Header
	body        string
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (s testServer) do(t *testing.T, c call) reply {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.path == "" {
		c.path = "/graphql"
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(req.Header, c.header)
	switch c.token {
	case "":
		req.Header.Set("Authorization", "Bearer admin")
	case "none":
	default:
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.accept != "" {
		req.Header.Set("Accept", c.accept)
	}
	switch {
	case c.contentType == "none":
	case c.contentType != "":
		req.Header.Set("Content-Type", c.contentType)
	case c.method == http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
	}
	client := *s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.busy.Wait()
	return reply{status: resp.StatusCode, header: resp.Header, body: string(body)}
}

// query posts a document with its variables and returns the status and the decoded body.
func (s testServer) query(t *testing.T, document string, variables map[string]any) (reply, map[string]any) {
	t.Helper()
	r := s.do(t, call{body: operation(t, document, variables), accept: graphQLJSON})
	return r, decode(t, r.body)
}

func operation(t *testing.T, document string, variables map[string]any) string {
	t.Helper()
	return marshal(t, map[string]any{"query": document, "variables": variables})
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decode(t *testing.T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	return m
}

const (
	plainJSON   = "application/json"
	graphQLJSON = "application/graphql-response+json"
)
