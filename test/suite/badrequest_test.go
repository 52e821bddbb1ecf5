package suite

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// badRequest is a request that is wrong as a whole, whatever the schema is.
type badRequest struct {
	name string
	// method is POST where it is empty.
	method, query, contentType, body string
	// status is that under the new media type, old that under application/json.
	status, old int
	// code and argument are what the error must say.
	code, argument string
	why            string
}

// operation is a body with a document.
func operation(document string) string { return fmt.Sprintf(`{"query": %q}`, document) }

// nested is a document of a depth.
func nested(depth int) string {
	const pair = "instance { workloads { nodes { "
	n := depth / 3
	return "{ workloads { nodes { " + strings.Repeat(pair, n) + "name" + strings.Repeat(" } } }", n) + " } } }"
}

func badRequests() []badRequest {
	const secret = "hunter2-do-not-repeat"
	aliases := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d: viewer { username } ", i)
		}
		return "{ " + b.String() + "}"
	}
	fragments := func(n int) string {
		var b strings.Builder
		b.WriteString("{ viewer { ...f0 } } ")
		for i := range n {
			fmt.Fprintf(&b, "fragment f%d on Viewer { ...f%d ...f%d } ", i, i+1, i+1)
		}
		fmt.Fprintf(&b, "fragment f%d on Viewer { username }", n)
		return b.String()
	}
	return []badRequest{
		{name: "no body", status: 400, old: 400, code: "INVALID", why: "there is nothing to run"},
		{name: "no JSON", body: "query { " + secret, status: 400, old: 400, code: "INVALID", why: "the body is no JSON"},
		{name: "JSON that is cut off", body: `{"query": "{ ` + secret, status: 400, old: 400, code: "INVALID", why: "the body is no JSON"},
		{name: "a batch", body: `[{"query": "` + secret + `"}]`, status: 400, old: 400, code: "INVALID", why: "one request is one operation"},
		{name: "a number", body: `42`, status: 400, old: 400, code: "INVALID", why: "the body is no object"},
		{name: "null", body: `null`, status: 400, old: 400, code: "INVALID", why: "the body is no object"},
		{name: "no document", body: `{"variables": {}}`, status: 400, old: 400, code: "INVALID", argument: "query", why: "there is nothing to run"},
		{name: "a document that is no text", body: `{"query": 1}`, status: 400, old: 400, code: "INVALID", argument: "query", why: "there is nothing to run"},
		{name: "variables that are a list", body: `{"query": "{ viewer { username } }", "variables": ["` + secret + `"]}`, status: 400, old: 400, code: "INVALID", argument: "variables", why: "variables have names"},
		{name: "extensions that are text", body: `{"query": "{ viewer { username } }", "extensions": "` + secret + `"}`, status: 400, old: 400, code: "INVALID", argument: "extensions", why: "extensions have names"},
		{name: "a name that is a number", body: `{"query": "{ viewer { username } }", "operationName": 1}`, status: 400, old: 400, code: "INVALID", argument: "operationName", why: "names are text"},
		{name: "another media type", contentType: "text/plain", body: operation("{ viewer { username } }"), status: 415, old: 415, code: "INVALID", why: "a page of another origin could send it without being asked"},
		{name: "another encoding", contentType: "application/json; charset=latin-1", body: operation("{ viewer { username } }"), status: 415, old: 415, code: "INVALID", why: "JSON is UTF-8"},
		{name: "a body without end", body: operation("{ viewer { username } } #" + strings.Repeat("x", 1<<20)), status: 413, old: 413, code: "INVALID", why: "a body has 1 MiB at most"},
		{name: "another method", method: http.MethodDelete, status: 405, old: 405, code: "INVALID", why: "GraphQL has two methods"},
		{name: "GET with variables that are no JSON", method: http.MethodGet, query: "query=" + url.QueryEscape("{viewer{username}}") + "&variables=" + secret, status: 400, old: 400, code: "INVALID", argument: "variables", why: "they are JSON there too"},
		{name: "GET without a document", method: http.MethodGet, status: 400, old: 400, code: "INVALID", argument: "query", why: "there is nothing to run"},

		{name: "syntax", body: operation("{ viewer { username }"), status: 400, old: 200, code: "INVALID", why: "it is no document"},
		{name: "an empty document", body: operation(" "), status: 400, old: 200, code: "INVALID", why: "there is nothing to run"},
		{name: "fragments alone", body: operation("fragment f on Viewer { username }"), status: 400, old: 200, code: "INVALID", why: "there is nothing to run"},
		{name: "an unknown field", body: operation("{ viewer { shoeSize } }"), status: 400, old: 200, code: "INVALID", why: "the schema has none"},
		{name: "an object without selection", body: operation("{ viewer }"), status: 400, old: 200, code: "INVALID", why: "what of it?"},
		{name: "an unknown operation", body: `{"query": "query A { viewer { username } }", "operationName": "B"}`, status: 400, old: 200, code: "INVALID", argument: "operationName", why: "there is none of this name"},
		{name: "several operations and no name", body: operation("query A { viewer { username } } query B { viewer { username } }"), status: 400, old: 200, code: "INVALID", argument: "operationName", why: "which?"},
		{name: "a variable that is missing", body: operation("query($id: ID!) { node(id: $id) { id } }"), status: 400, old: 200, code: "INVALID", argument: "$id", why: "it is required"},
		{name: "a mutation that there is not", body: operation("mutation { deleteEverything }"), status: 400, old: 200, code: "INVALID", why: "the schema has none"},
		{name: "too deep", body: operation(nested(24)), status: 400, old: 200, code: "QUERY_TOO_COMPLEX", why: "20 levels are allowed"},
		{name: "too many aliases", body: operation(aliases(1000)), status: 400, old: 200, code: "QUERY_TOO_COMPLEX", why: "3,000 tokens are allowed"},
		{name: "fragments that double", body: operation(fragments(15)), status: 400, old: 200, code: "QUERY_TOO_COMPLEX", why: "5,000 fields are allowed, fragments written out"},
	}
}

// TestBadRequestsAreTypedErrors sends what is no operation, or none that is run:
// each is answered with one typed error, the right status, nothing of what was sent,
// and one line in the log.
func TestBadRequestsAreTypedErrors(t *testing.T) {
	on := open(t)
	for _, tt := range badRequests() {
		for _, accept := range []string{gql.JSON, gql.Response} {
			t.Run(tt.name+" "+accept, func(t *testing.T) {
				want := tt.status
				if accept == gql.JSON {
					want = tt.old
				}
				r := tt.send(t, on, accept)
				if r.Status != want {
					t.Errorf("HTTP %d, want %d: %s", r.Status, want, tt.why)
				}
				if r.HasData || len(r.Errors) != 1 {
					t.Fatalf("want one error and no data; got %.500s", r.Body)
				}
				if e := r.Errors[0]; e.Extensions.Code != tt.code || e.Extensions.Argument != tt.argument {
					t.Errorf("want %s naming %q: %s; got %s", tt.code, tt.argument, tt.why, e)
				}
				if strings.Contains(string(r.Body), "hunter2") {
					t.Errorf("the answer repeats what was sent: %s", r.Body)
				}
				lines := on.linesOf(t, r.TraceID)
				if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["status"] != float64(want) {
					t.Errorf("want one line of the log, about HTTP %d; got %v", want, lines)
				}
				if strings.Contains(fmt.Sprint(lines), "hunter2") {
					t.Errorf("the log repeats what was sent: %v", lines)
				}
			})
		}
	}
}

func (b badRequest) send(t *testing.T, on *target, accept string) *gql.Result {
	t.Helper()
	c := *on.kairship
	c.HTTP = &http.Client{Timeout: on.kairship.HTTP.Timeout, Transport: changed(func(r *http.Request) {
		if b.method != "" {
			r.Method, r.Body, r.ContentLength = b.method, http.NoBody, 0
			r.Header.Del("Content-Type")
		}
		r.URL.RawQuery = b.query
		if b.contentType != "" {
			r.Header.Set("Content-Type", b.contentType)
		}
	})}
	r, err := c.Send(context.WithoutCancel(t.Context()), bytes.TrimSpace([]byte(b.body)), accept)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	return r
}

// changed changes requests before they are sent.
type changed func(*http.Request)

func (c changed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	c(r)
	return http.DefaultTransport.RoundTrip(r)
}
