package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	named "github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/internal/testschema"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// restFiles are the operations of the test schema.
var restFiles = fstest.MapFS{
	"a/GetViewer.graphql":   restFile("GET /api/v1/viewer", "query GetViewer { viewer { username groups } }"),
	"a/Change.graphql":      restFile("POST /api/v1/changes/{name}:change", "mutation Change($name: String!) { change(name: $name) { token __typename } }"),
	"a/Update.graphql":      restFile("PUT /api/v1/changes/{name}", "mutation Update($name: String!, $resourceVersion: String! = \"token\") { change(name: $name) { resourceVersion: token fail(name: $resourceVersion) } }"),
	"a/Remove.graphql":      restFile("DELETE /api/v1/changes/{name}", "mutation Remove($name: String!) { change(name: $name) { token __typename } }"),
	"a/WatchTexts.graphql":  restFile("GET /api/v1/texts/{topic}", "subscription WatchTexts($topic: String!) { events(topic: $topic) { n text } }"),
	"a/ListBoxes.graphql":   restFile("GET /api/v1/boxes", "query ListBoxes($first: Int! = 20) { boxes(first: $first) { totalCount nodes { id name namespace color desired ready weight note labels { key value } images parts { name color count applied message labels { key value } } } } }"),
	"a/WatchEvents.graphql": restFile("GET /api/v1/watch/{topic}", "subscription WatchEvents($topic: String!, $after: String) { events(topic: $topic, after: $after) { n cursor } }"),
}

func restFile(http, document string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("# Does something.\n#\n# http: " + http + "\n# stability: beta\n" + document)}
}

func startREST(t *testing.T, errs map[string]error, change func(*server.Config)) testServer {
	t.Helper()
	operations, err := named.Load(restFiles, testschema.NewExecutableSchema(testschema.Config{}).Schema())
	if err != nil {
		t.Fatal(err)
	}
	return start(t, errs, func(cfg *server.Config) {
		cfg.Operations, cfg.OpenAPI = operations, []byte(`{"openapi":"3.1.0"}`)
		if change != nil {
			change(cfg)
		}
	})
}

// problem is an error of the REST API.
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Status int    `json:"status"`
}

func TestREST(t *testing.T) {
	s := startREST(t, map[string]error{
		"broken":   apierror.New(apierror.CodeConflict, "it moved"),
		"limited":  &apierror.Error{Code: apierror.CodeRateLimited, Message: "later"},
		"unhidden": apierror.New(apierror.CodeForbidden, "you may not"),
	}, nil)
	for name, c := range map[string]struct {
		call   call
		status int
		body   string // For a success.
		code   apierror.Code
		detail string
	}{
		"an object":                      {call: call{method: "GET", path: "/api/v1/viewer"}, status: 200, body: `{"username":"admin","groups":["system:authenticated"]}`},
		"an action":                      {call: call{path: "/api/v1/changes/a:change"}, status: 200, body: `{"token":"token-a","__typename":"Changed"}`},
		"a name with a colon":            {call: call{path: "/api/v1/changes/system:a:change"}, status: 200, body: `{"token":"token-system:a","__typename":"Changed"}`},
		"an escaped name":                {call: call{path: "/api/v1/changes/a%20b:change"}, status: 200, body: `{"token":"token-a b","__typename":"Changed"}`},
		"a removal":                      {call: call{method: "DELETE", path: "/api/v1/changes/a"}, status: 200, body: `{"token":"token-a","__typename":"Changed"}`},
		"an error":                       {call: call{path: "/api/v1/changes/broken:change"}, status: 409, code: apierror.CodeConflict, detail: "it moved"},
		"a limit":                        {call: call{path: "/api/v1/changes/limited:change"}, status: 429, code: apierror.CodeRateLimited, detail: "later"},
		"no such verb":                   {call: call{path: "/api/v1/changes/a:paint"}, status: 405, code: apierror.CodeInvalid, detail: "the methods of this path are DELETE, PUT"},
		"no such path":                   {call: call{method: "GET", path: "/api/v1/nothing"}, status: 404, code: apierror.CodeNotFound, detail: "openapi.json"},
		"an empty segment":               {call: call{method: "DELETE", path: "/api/v1/changes/"}, status: 404, code: apierror.CodeNotFound},
		"another method":                 {call: call{method: "PATCH", path: "/api/v1/viewer"}, status: 405, code: apierror.CodeInvalid, detail: "the methods of this path are GET"},
		"a parameter that is none":       {call: call{method: "GET", path: "/api/v1/viewer?x=1"}, status: 400, code: apierror.CodeInvalid, detail: "no parameter of GetViewer; it has none"},
		"a parameter of the path, again": {call: call{method: "DELETE", path: "/api/v1/changes/a?name=b"}, status: 400, code: apierror.CodeInvalid, detail: "no parameter of Remove"},
		"a body with the name again":     {call: call{path: "/api/v1/changes/a:change", body: `{"name": "b"}`}, status: 400, code: apierror.CodeInvalid, detail: "no parameter of Change"},
		"a query string beside a body":   {call: call{path: "/api/v1/changes/a:change?x=1", body: `{}`}, status: 400, code: apierror.CodeInvalid, detail: "the members of its body"},
		"a body that is no object":       {call: call{path: "/api/v1/changes/a:change", body: `[1]`}, status: 400, code: apierror.CodeInvalid, detail: "send a JSON object"},
		"a body that is no JSON":         {call: call{path: "/api/v1/changes/a:change", body: `{"x"`}, status: 400, code: apierror.CodeInvalid},
		"a body of another type":         {call: call{path: "/api/v1/changes/a:change", body: `x=1`, contentType: "application/x-www-form-urlencoded"}, status: 415, code: apierror.CodeInvalid, detail: "Content-Type"},
		"no identity":                    {call: call{method: "GET", path: "/api/v1/viewer", token: "none"}, status: 401, code: apierror.CodeUnauthenticated},
		"a wrong token":                  {call: call{method: "GET", path: "/api/v1/viewer", token: "wrong"}, status: 401, code: apierror.CodeUnauthenticated, detail: "the token is not valid"},
		"who is not served":              {call: call{method: "GET", path: "/api/v1/viewer", token: "mallory"}, status: 403, code: apierror.CodeForbidden},
		"no path, without an identity":   {call: call{method: "GET", path: "/api/v1/nothing", token: "none"}, status: 401, code: apierror.CodeUnauthenticated},
		"the document, without identity": {call: call{method: "GET", path: "/api/v1/openapi.json", token: "none"}, status: 401, code: apierror.CodeUnauthenticated},
		"the document":                   {call: call{method: "GET", path: "/api/v1/openapi.json"}, status: 200, body: `{"openapi":"3.1.0"}`},
		"another user":                   {call: call{method: "GET", path: "/api/v1/viewer", header: http.Header{"Impersonate-User": {"bob"}}}, status: 400, code: apierror.CodeInvalid},
		"versions where there are none":  {call: call{method: "DELETE", path: "/api/v1/changes/a", header: http.Header{"If-Match": {`"1"`}}}, status: 400, code: apierror.CodeInvalid, detail: "knows no versions"},
		"a version that is no tag":       {call: call{method: "PUT", path: "/api/v1/changes/a", body: `{}`, contentType: "application/json", header: http.Header{"If-Match": {"1"}}}, status: 400, code: apierror.CodeInvalid, detail: "entity tag"},
		"two versions":                   {call: call{method: "PUT", path: "/api/v1/changes/a", body: `{"resourceVersion": "2"}`, contentType: "application/json", header: http.Header{"If-Match": {`"1"`}}}, status: 400, code: apierror.CodeInvalid, detail: "send one of them"},
		"a stream without events":        {call: call{method: "GET", path: "/api/v1/watch/a"}, status: 406, code: apierror.CodeInvalid, detail: "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(t, c.call)
			if got.status != c.status {
				t.Fatalf("got %d, want %d: %s", got.status, c.status, got.body)
			}
			if c.body != "" {
				if got.body != c.body || !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
					t.Errorf("got %s: %s", got.header.Get("Content-Type"), got.body)
				}
				return
			}
			var is problem
			if err := json.Unmarshal([]byte(got.body), &is); err != nil || !strings.HasPrefix(got.header.Get("Content-Type"), "application/problem+json") {
				t.Fatalf("got %s: %s", got.header.Get("Content-Type"), got.body)
			}
			if is.Status != c.status || is.Code != string(c.code) || is.Title != http.StatusText(c.status) || !strings.Contains(is.Detail, c.detail) {
				t.Errorf("got %s", got.body)
			}
		})
	}
}

// TestRESTKeepsPartialAnswers reads an object part of which is missing, with its version.
func TestRESTKeepsPartialAnswers(t *testing.T) {
	s := startREST(t, map[string]error{"1": apierror.New(apierror.CodeTimeout, "too late")}, nil)
	// The resolver of fail has no value where there is no error, so that the object is null.
	got := s.do(t, call{method: "PUT", path: "/api/v1/changes/a", contentType: "application/json", header: http.Header{"If-Match": {`"1"`}}})
	if got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, "too late") {
		t.Errorf("got %d: %s", got.status, got.body)
	}
	got = s.do(t, call{method: "PUT", path: "/api/v1/changes/a", contentType: "application/json"})
	if tag := got.header.Get("ETag"); got.status != 200 || tag != `"token-a"` {
		t.Errorf("got %d, %s: %s", got.status, tag, got.body)
	}
}

// TestTrustedDocumentsHaveTheServersOwn executes a named operation where only trusted documents are executed.
func TestTrustedDocumentsHaveTheServersOwn(t *testing.T) {
	s := startREST(t, nil, func(cfg *server.Config) {
		cfg.TrustedDocuments = func() document.Trusted { return document.Trusted{} }
	})
	if got := s.do(t, call{method: "GET", path: "/api/v1/viewer"}); got.status != 200 {
		t.Errorf("by REST: %d %s", got.status, got.body)
	}
	if got := s.do(t, call{body: `{"documentId": "GetViewer"}`, accept: graphQLJSON}); got.status != 200 || !strings.Contains(got.body, `"username":"admin"`) {
		t.Errorf("by its name: %d %s", got.status, got.body)
	}
	if got := s.do(t, call{body: `{"query": "{ viewer { username } }"}`, accept: graphQLJSON}); got.status != http.StatusForbidden {
		t.Errorf("another document: %d %s", got.status, got.body)
	}
}

// TestRESTRefusesOtherSites has a page of another site send what a browser adds a certificate to.
func TestRESTRefusesOtherSites(t *testing.T) {
	s := startREST(t, nil, func(cfg *server.Config) { cfg.Authenticator = anybody{} })
	if got := s.do(t, call{method: "GET", path: "/api/v1/viewer", token: "none", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}); got.status != http.StatusForbidden {
		t.Errorf("a GET: %d %s", got.status, got.body)
	}
	if got := s.do(t, call{path: "/api/v1/changes/a:change", token: "none", contentType: "text/plain"}); got.status != http.StatusForbidden || s.changes.has("a") {
		t.Errorf("a POST: %d %s", got.status, got.body)
	}
}

// TestWays has the audit log tell which way each request came.
func TestWays(t *testing.T) {
	for way, send := range map[string]func(*testing.T, testServer){
		telemetry.WayGraphQL: func(t *testing.T, s testServer) {
			t.Helper()
			s.do(t, call{body: `{"query": "{ viewer { username } }"}`, accept: graphQLJSON})
		},
		telemetry.WayREST: func(t *testing.T, s testServer) { t.Helper(); s.do(t, call{method: "GET", path: "/api/v1/viewer"}) },
		telemetry.WayMCP: func(t *testing.T, s testServer) {
			t.Helper()
			r := httptest.NewRequestWithContext(telemetry.WithWay(t.Context(), telemetry.WayMCP), http.MethodPost, "/graphql", strings.NewReader(`{"query": "{ viewer { username } }"}`))
			r.Header.Set("Authorization", "Bearer admin")
			r.Header.Set("Content-Type", "application/json")
			s.handler.ServeHTTP(httptest.NewRecorder(), r)
		},
	} {
		s := startREST(t, nil, nil)
		send(t, s)
		s.busy.Wait()
		if log := s.log.String(); !strings.Contains(log, `"msg":"audit"`) || !strings.Contains(log, `"via":"`+way+`"`) {
			t.Errorf("by %s: the log is %s", way, log)
		}
	}
}
