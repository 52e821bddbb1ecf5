package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/sharing"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// testFields are what the test schema shares.
var testFields = sharing.Fields{
	"Query": "hello same scope items fail failRequired slow panic",
	"Item":  "name child fail",
}

// grants are the people of these tests, known by tokens that are their names, and the
// rules of each, which a test may change.
type grants struct {
	*authz.Resolver

	mu    sync.Mutex
	rules map[string]string
	// incomplete: the global cluster cannot list rules.
	incomplete bool
}

func newGrants() *grants {
	g := &grants{rules: map[string]string{"alice": "alpha", "anna": "alpha", "bob": "beta", "both": "alpha beta", "mallory": ""}}
	g.Resolver = authz.NewResolver(g, allowed{}, time.Now, nil)
	return g
}

// allowed says yes where rules cannot be listed.
type allowed struct {
	authorizationclient.SubjectAccessReviewInterface
}

// Create implements authorizationclient.SubjectAccessReviewInterface.
func (allowed) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	review.Status.Allowed = true
	return review, nil
}

// Authenticate implements authz.Authenticator.
func (g *grants) Authenticate(_ context.Context, c authz.Credentials) (authz.User, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name := range g.rules {
		if c == authz.TokenCredentials(name) {
			return authz.User{Name: name}, nil
		}
	}
	return authz.User{}, apierror.New(apierror.CodeUnauthenticated, "the token is not valid")
}

// Rules implements authz.RulesReviewer.
func (g *grants) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	status := &authorizationv1.SubjectRulesReviewStatus{Incomplete: g.incomplete}
	for name := range strings.FieldsSeq(g.rules[u.Name]) {
		instance, namespace, narrow := strings.Cut(name, ":")
		rule := authorizationv1.ResourceRule{APIGroups: []string{"kairship.io"}, Verbs: []string{"get", "list"}, Resources: []string{"instances", "instances/resources"}, ResourceNames: []string{instance}}
		if narrow {
			rule.Resources = rule.Resources[:1]
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				APIGroups: rule.APIGroups, Verbs: rule.Verbs, Resources: []string{"instances/namespaces"}, ResourceNames: []string{instance + ":" + namespace},
			})
		}
		status.ResourceRules = append(status.ResourceRules, rule)
	}
	return status, nil
}

// set changes the rules of a person, as the watch on role bindings hears of it.
func (g *grants) set(person, rules string) {
	g.mu.Lock()
	g.rules[person] = rules
	g.mu.Unlock()
	g.Flush()
}

// counting are resolvers that count what is executed.
type counting struct {
	resolvers

	grants *grants
	// executed is how often each field of Query was resolved.
	executed *counter
	// gate, where not nil, holds `scope` until it is closed or the request ends; entered
	// reports that it is held.
	gate, entered chan struct{}
	// during is called while `scope` is resolved, between two looks at the permissions.
	during func()
	// after is called once it is resolved.
	after func()
}

type counter struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counter) add(field string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[field]++
	return c.of[field]
}

func (c *counter) get(field string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[field]
}

func (r counting) Query() testschema.QueryResolver { return r }

// Hello says how often it was resolved.
func (r counting) Hello(context.Context, *string) (string, error) {
	return fmt.Sprint("hello ", r.executed.add("hello")), nil
}

// Scope says which instances the caller sees.
func (r counting) Scope(ctx context.Context) (string, error) {
	r.executed.add("scope")
	before, err := r.sees(ctx)
	if err != nil {
		return "", err
	}
	if r.gate != nil {
		r.entered <- struct{}{}
		select {
		case <-r.gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if r.during == nil {
		return before, nil
	}
	r.during()
	after, err := r.sees(ctx)
	if r.after != nil {
		r.after()
	}
	return before + "/" + after, err
}

func (r counting) sees(ctx context.Context) (string, error) {
	names := []string{"alpha", "beta"}
	v, err := r.grants.For(ctx, names...)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if v.Sees(name) {
			audit.From(ctx).Permit(name)
		}
	}
	return strings.Join(v.Filter(names), " "), nil
}

// Fail counts, too.
func (r counting) Fail(ctx context.Context, name string) (*string, error) {
	r.executed.add("fail")
	return r.resolvers.Fail(ctx, name)
}

// Viewer counts, too.
func (r counting) Viewer(ctx context.Context) (*testschema.Viewer, error) {
	r.executed.add("viewer")
	return r.resolvers.Viewer(ctx)
}

// sharing is a server that shares answers, and what its tests look at.
type sharingServer struct {
	testServer
	*counting

	clock *handClock
	// looked counts the requests that have a question, which find an execution next.
	looked *atomic.Int64
}

// permissions counts the callers that ask for the grants of a question.
type permissions struct {
	*grants

	looked *atomic.Int64
}

// For implements access.Permissions.
func (p permissions) For(ctx context.Context, instances ...string) (*authz.Visibility, error) {
	defer p.looked.Add(1)
	return p.grants.For(ctx, instances...)
}

// handClock is one that a test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func startSharing(t *testing.T, change func(*counting, *server.Config)) sharingServer {
	t.Helper()
	people := newGrants()
	s := sharingServer{
		counting: &counting{resolvers: resolvers{errs: map[string]error{"boom": apierror.New(apierror.CodeNotFound, "gone")}}, grants: people, executed: &counter{of: map[string]int{}}},
		clock:    &handClock{now: time.Unix(1000, 0)},
		looked:   &atomic.Int64{},
	}
	s.testServer = start(t, nil, func(c *server.Config) {
		c.Authenticator, c.Authorizer, c.Now = people, people, s.clock.Now
		c.Quotas = nil
		c.Shared = answercache.Options{Fields: testFields, Permissions: permissions{people, s.looked}, Bytes: 1 << 20}
		if change != nil {
			change(s.counting, c)
		}
		s.changes = &changeLog{}
		s.counting.resolvers.changes = s.changes
		c.Schema = testschema.NewExecutableSchema(testschema.Config{Resolvers: s.counting})
	})
	return s
}

// ask posts a query as a person, and returns the body.
func (s sharingServer) ask(t *testing.T, person, document string, header http.Header) string {
	t.Helper()
	r := s.do(t, call{token: person, body: operation(t, document, nil), header: header})
	if r.status != http.StatusOK {
		t.Fatalf("%s: %d %s", document, r.status, r.body)
	}
	return r.body
}
