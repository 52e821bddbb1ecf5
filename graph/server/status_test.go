package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server"
)

// TestStatus is the table of the GraphQL over HTTP specification: what a
// request gets under either media type.
func TestStatus(t *testing.T) {
	s := start(t, map[string]error{}, func(c *server.Config) { c.MaxBodyBytes = 2000; c.TokenLimit = 200; c.MaxCost = 50 })
	post := func(body string) call { return call{body: body} }
	get := func(values url.Values) call {
		return call{method: http.MethodGet, path: "/graphql?" + values.Encode()}
	}
	for _, tt := range []struct {
		name    string
		call    call
		plain   int // under application/json
		graphQL int // under application/graphql-response+json
		code    string
		hasData bool
		why     string
	}{
		{name: "query", call: post(`{"query":"{hello}"}`), plain: 200, graphQL: 200, hasData: true, why: "it was executed"},
		{name: "mutation", call: post(`{"query":"mutation{touch}"}`), plain: 200, graphQL: 200, hasData: true, why: "it was executed"},
		{name: "null parameters", call: post(`{"query":"{hello}","variables":null,"operationName":null,"extensions":null}`), plain: 200, graphQL: 200, hasData: true, why: "null is as good as missing"},
		{name: "unknown parameters", call: post(`{"query":"{hello}","id":1}`), plain: 200, graphQL: 200, hasData: true, why: "clients may send more than is read"},
		{name: "a field fails", call: post(`{"query":"{hello items(first:-1){name}}"}`), plain: 200, graphQL: 200, code: "INVALID", hasData: true, why: "execution began, so its result is 200"},
		{name: "parse error", call: post(`{"query":"{"}`), plain: 200, graphQL: 400, code: "INVALID", why: "well-formed request, bad document"},
		{name: "validation error", call: post(`{"query":"{nope}"}`), plain: 200, graphQL: 400, code: "INVALID", why: "well-formed request, bad document"},
		{name: "coercion error", call: post(`{"query":"query($c:Color!){items(color:$c){name}}","variables":{"c":"BLUE"}}`), plain: 200, graphQL: 400, code: "INVALID", why: "well-formed request, bad variables"},
		{name: "unknown operation", call: post(`{"query":"query A{hello}","operationName":"B"}`), plain: 200, graphQL: 400, code: "INVALID", why: "well-formed request, no such operation"},
		{name: "too complex", call: post(`{"query":"{` + aliases(51) + `}"}`), plain: 200, graphQL: 400, code: "QUERY_TOO_COMPLEX", why: "gqlgen alone answers 200 to both"},
		{name: "too many tokens", call: post(`{"query":"{` + strings.Repeat("hello ", 300) + `}"}`), plain: 200, graphQL: 400, code: "QUERY_TOO_COMPLEX", why: "refused while it is read"},
		{name: "subscription", call: post(`{"query":"subscription{ticks}"}`), plain: 400, graphQL: 400, code: "INVALID", why: "one response cannot carry it"},
		{name: "empty body", call: post(""), plain: 400, graphQL: 400, code: "INVALID", why: "malformed request"},
		{name: "no JSON", call: post(`{"query`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed request"},
		{name: "JSON null", call: post(`null`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed request"},
		{name: "more than one value", call: post(`{"query":"{hello}"} {}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed request"},
		{name: "no query", call: post(`{"operationName":"A"}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "query of another type", call: post(`{"query":3}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "operationName of another type", call: post(`{"query":"{hello}","operationName":{}}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "variables of another type", call: post(`{"query":"{hello}","variables":["x"]}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "extensions of another type", call: post(`{"query":"{hello}","extensions":"x"}`), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "batch", call: post(`[{"query":"{hello}"}]`), plain: 400, graphQL: 400, code: "INVALID", why: "batches are not served"},
		{name: "body too large", call: post(`{"query":"{hello}","extensions":{"x":"` + strings.Repeat("x", 2000) + `"}}`), plain: 413, graphQL: 413, code: "INVALID", why: "HTTP itself refuses it"},
		{name: "no content type", call: call{body: `{"query":"{hello}"}`, contentType: "none"}, plain: 415, graphQL: 415, code: "INVALID", why: "a form of another site can send text, but not JSON"},
		{name: "form", call: call{body: "query={hello}", contentType: "application/x-www-form-urlencoded"}, plain: 415, graphQL: 415, code: "INVALID", why: "a form of another site can send this"},
		{name: "another encoding", call: call{body: `{"query":"{hello}"}`, contentType: "application/json; charset=utf-16"}, plain: 415, graphQL: 415, code: "INVALID", why: "JSON is UTF-8"},
		{name: "explicit UTF-8", call: call{body: `{"query":"{hello}"}`, contentType: "application/json; charset=UTF-8"}, plain: 200, graphQL: 200, hasData: true, why: "that is what JSON is"},
		{name: "GET query", call: get(url.Values{"query": {"query($n:String){hello(name:$n)}"}, "variables": {`{"n":"x"}`}}), plain: 200, graphQL: 200, hasData: true, why: "it was executed"},
		{name: "GET mutation", call: get(url.Values{"query": {"mutation{touch}"}}), plain: 405, graphQL: 405, code: "INVALID", why: "a link must not change anything"},
		{name: "GET without query", call: get(nil), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "GET with bad variables", call: get(url.Values{"query": {"{hello}"}, "variables": {"{"}}), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "GET with variables and more", call: get(url.Values{"query": {"{hello}"}, "variables": {"{} {}"}}), plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "GET with a parameter twice", call: get(url.Values{"query": {"{hello}", "{nope}"}}), plain: 400, graphQL: 400, code: "INVALID", why: "what is between may have read the other one"},
		{name: "GET with variables twice", call: get(url.Values{"query": {"{hello}"}, "variables": {"", "{}"}}), plain: 400, graphQL: 400, code: "INVALID", why: "the same, also where one says nothing"},
		{name: "GET with extensions twice", call: get(url.Values{"query": {"{hello}"}, "extensions": {"{}", "{}"}}), plain: 400, graphQL: 400, code: "INVALID", why: "the same, also where both say the same"},
		{name: "GET with an unknown parameter twice", call: get(url.Values{"query": {"{hello}"}, "x": {"1", "2"}}), plain: 200, graphQL: 200, hasData: true, why: "it is not read"},
		{name: "GET with a bad escape", call: call{method: http.MethodGet, path: "/graphql?query=%zz"}, plain: 400, graphQL: 400, code: "INVALID", why: "malformed parameters"},
		{name: "GET too long", call: get(url.Values{"query": {"{hello}"}, "x": {strings.Repeat("x", 2000)}}), plain: 414, graphQL: 414, code: "INVALID", why: "the limit of a body is the limit of a query string"},
		{name: "PUT", call: call{method: http.MethodPut, body: `{"query":"{hello}"}`}, plain: 405, graphQL: 405, code: "INVALID", why: "HTTP itself refuses it"},
		{name: "wrong token", call: call{token: "wrong", body: `{"query":"{hello}"}`}, plain: 401, graphQL: 401, code: "UNAUTHENTICATED", why: "identity shows in every media type"},
		{name: "no token", call: call{token: "none", body: `{"query":"{hello}"}`}, plain: 401, graphQL: 401, code: "UNAUTHENTICATED", why: "identity shows in every media type"},
		{name: "user who is not served", call: call{token: "mallory", body: `{"query":"{hello}"}`}, plain: 403, graphQL: 403, code: "FORBIDDEN", why: "identity shows in every media type"},
		{name: "undecided token", call: call{token: "undecided", body: `{"query":"{hello}"}`}, plain: 503, graphQL: 503, code: "TIMEOUT", why: "no review said that the token is bad"},
	} {
		for media, want := range map[string]int{plainJSON: tt.plain, graphQLJSON: tt.graphQL} {
			t.Run(tt.name+" as "+media, func(t *testing.T) {
				tt.call.accept = media
				r := s.do(t, tt.call)
				if r.status != want {
					t.Errorf("status %d, want %d: %s\n%s", r.status, want, tt.why, r.body)
				}
				if got := r.header.Get("Content-Type"); got != media+"; charset=utf-8" {
					t.Errorf("content type %q, want that of the Accept header", got)
				}
				body := decode(t, r.body)
				if _, has := body["data"]; has != tt.hasData {
					t.Errorf("data entry: %v, want %v: only what was executed has one\n%s", has, tt.hasData, r.body)
				}
				if got := codeOf(body); got != tt.code {
					t.Errorf("code %q, want %q\n%s", got, tt.code, r.body)
				}
			})
		}
	}
}

// codeOf is the code of the first error; "" when there is none.
func codeOf(body map[string]any) string {
	errs, _ := body["errors"].([]any)
	if len(errs) == 0 {
		return ""
	}
	return extensions(errs[0])["code"].(string)
}

func extensions(err any) map[string]any {
	return err.(map[string]any)["extensions"].(map[string]any)
}

func TestNegotiation(t *testing.T) {
	s := start(t, nil, nil)
	for _, tt := range []struct {
		accept string
		want   string
		status int
		why    string
	}{
		{"", plainJSON, 200, "clients from before graphql-response+json send nothing"},
		{"*/*", plainJSON, 200, "the client does not care"},
		{"application/*", plainJSON, 200, "the client does not care"},
		{plainJSON, plainJSON, 200, "asked for"},
		{graphQLJSON, graphQLJSON, 200, "asked for"},
		{graphQLJSON + ", " + plainJSON, graphQLJSON, 200, "equal, so the first"},
		{plainJSON + ", " + graphQLJSON, plainJSON, 200, "equal, so the first"},
		{plainJSON + ";q=0.5, " + graphQLJSON, graphQLJSON, 200, "preferred"},
		{graphQLJSON + ";q=0.5, " + plainJSON, plainJSON, 200, "preferred"},
		{graphQLJSON + ", */*", graphQLJSON, 200, "named before anything else"},
		{graphQLJSON + ";q=0, */*", plainJSON, 200, "ruled out"},
		{"text/html, application/xhtml+xml, */*;q=0.8", plainJSON, 200, "what a browser sends for a page"},
		{"application/json; charset=utf-8", plainJSON, 200, "parameters do not matter"},
		{"text/html", plainJSON, 406, "there is no such response; the refusal is JSON anyway"},
		{plainJSON + ";q=0", plainJSON, 406, "ruled out, and nothing else named"},
		{"nonsense/;;, " + graphQLJSON, graphQLJSON, 200, "what cannot be read is passed over"},
	} {
		t.Run(tt.accept, func(t *testing.T) {
			c := call{body: `{"query":"{hello}"}`, accept: tt.accept}
			if tt.accept == "" {
				c.header = http.Header{"Accept": nil}
			}
			r := s.do(t, c)
			if got := r.header.Get("Content-Type"); got != tt.want+"; charset=utf-8" || r.status != tt.status {
				t.Errorf("got %d %s, want %d %s: %s", r.status, got, tt.status, tt.want, tt.why)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	s := start(t, nil, nil)
	query := `{"query":"{hello}"}`
	for _, tt := range []struct {
		name   string
		call   call
		header string
		want   string
		why    string
	}{
		{"no token", call{token: "none", body: query}, "WWW-Authenticate", `Bearer realm="kairship"`, "RFC 6750: no error without credentials"},
		{"wrong token", call{token: "wrong", body: query}, "WWW-Authenticate", `Bearer realm="kairship", error="invalid_token"`, "RFC 6750"},
		{"undecided token", call{token: "undecided", body: query}, "WWW-Authenticate", "", "clients drop a token that is challenged"},
		{"served", call{body: query}, "WWW-Authenticate", "", "nothing to ask for"},
		{"GET mutation", call{method: http.MethodGet, path: "/graphql?query=mutation{touch}"}, "Allow", "POST", "RFC 9110: a 405 says what is allowed"},
		{"DELETE", call{method: http.MethodDelete}, "Allow", "OPTIONS, GET, POST", "RFC 9110: a 405 says what is allowed"},
		{"OPTIONS", call{method: http.MethodOptions, token: "none"}, "Allow", "OPTIONS, GET, POST", "no token is needed to learn that"},
		{"OPTIONS from another site", call{method: http.MethodOptions, header: http.Header{"Origin": {"https://evil.example"}}}, "Access-Control-Allow-Origin", "", "no other origin may read answers"},
		{"data", call{body: query}, "Cache-Control", "no-store", "one user's data must not reach the next"},
		{"data", call{body: query}, "X-Content-Type-Options", "nosniff", "data is never a page"},
	} {
		t.Run(tt.name+" "+tt.header, func(t *testing.T) {
			if got := s.do(t, tt.call).header.Get(tt.header); got != tt.want {
				t.Errorf("got %q, want %q: %s", got, tt.want, tt.why)
			}
		})
	}
}
