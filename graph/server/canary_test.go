package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// canary stands for a secret that a user put into the wrong place. It has characters
// that no name has, as tokens and passwords do.
const canary = "canary-hunter2.s3cr3t"

// TestNoRefusalRepeatsWhatWasSent sends a secret in every place that a request has,
// in every way that a request can be wrong: neither the answer nor the log may have it.
func TestNoRefusalRepeatsWhatWasSent(t *testing.T) {
	s := start(t, map[string]error{}, func(c *server.Config) {
		c.MaxBodyBytes, c.TokenLimit, c.MaxDepth, c.MaxFields, c.MaxAliases, c.MaxRootFields, c.MaxCost = 4000, 200, 4, 60, 20, 30, 300
	})
	trusting := start(t, nil, func(c *server.Config) { c.TrustedDocuments = func() document.Trusted { return nil } })
	text := `"` + canary + `"`
	// Each has the secret in its text, besides in what every request gets below.
	documents := map[string]string{
		"parse: string in the wrong place":    `{hello ` + text + `}`,
		"parse: string after a keyword":       `query ` + text + `{hello}`,
		"parse: string for a fragment":        `fragment ` + text + ` on Query{hello}`,
		"parse: unterminated string":          `{hello(name:"` + canary + `)}`,
		"parse: escape":                       `{hello(name:"\q` + canary + `")}`,
		"parse: unicode escape":               `{hello(name:"\uZZZZ` + canary + `")}`,
		"parse: unicode escape at the end":    `{hello(name:"` + canary + `\u12`,
		"parse: braced escape":                `{hello(name:"\u{` + canary + `}")}`,
		"parse: block string":                 `{hello """` + canary + `"""}`,
		"parse: comment":                      "{hello #" + canary + "\n",
		"parse: number":                       `{items(first:01` + canary + `){name}}`,
		"parse: character":                    `{hello ?` + canary + `}`,
		"parse: name with characters of none": `{` + canary + `}`,
		"no operation":                        `fragment F on Query{hello(name:` + text + `)}`,
		"string for an enum":                  `{items(color:` + text + `){name}}`,
		"string for a number":                 `{items(first:` + text + `){name}}`,
		"string for an object":                `{items(filter:` + text + `){name}}`,
		"string in a list of enums":           `{items(filter:{colors:[` + text + `]}){name}}`,
		"list for a string":                   `{hello(name:[` + text + `])}`,
		"object for a string":                 `{hello(name:{a:` + text + `})}`,
		"object for a number":                 `{items(first:{a:` + text + `}){name}}`,
		"block string for a number":           `{items(first:"""` + canary + `"""){name}}`,
		"unknown argument":                    `{hello(nam:` + text + `)}`,
		"unknown input field":                 `{items(filter:{word2:` + text + `}){name}}`,
		"unknown field with an argument":      `{helo(name:` + text + `)}`,
		"unknown directive":                   `{hello @canary(x:` + text + `)}`,
		"directive with a string":             `{hello @include(if:` + text + `)}`,
		"argument twice":                      `{hello(name:` + text + `,name:"b")}`,
		"different arguments":                 `{hello(name:` + text + `) hello(name:"b")}`,
		"default of another type":             `query($n:Int=` + text + `){items(first:$n){name}}`,
		"missing argument":                    `{fail hello(name:` + text + `)}`,
		"selection on a scalar":               `{hello(name:` + text + `){x}}`,
		"missing selection":                   `{hello(name:` + text + `) items}`,
		"unused variable":                     `query($a:String=` + text + `){hello}`,
		"unknown operation":                   `query A{hello(name:` + text + `)}`,
		"scalar that refuses":                 `{items(word:` + text + `){name}}`,
		"scalar that refuses, in an input":    `{items(filter:{word:` + text + `}){name}}`,
		"subscription":                        `subscription{events(topic:` + text + `){n}}`,
		"mutation":                            `mutation{touch hello(name:` + text + `)}`,
		"too deep":                            `{hello(name:` + text + `) items{child{child{child{name}}}}}`,
		"too wide":                            `{hello(name:` + text + `) ` + strings.Repeat("x:hello ", 70) + `}`,
		"too many aliases":                    `{items{` + aliases(25) + `} hello(name:` + text + `)}`,
		"too many root fields":                `{` + aliases(31) + ` z:hello(name:` + text + `)}`,
		"too dear":                            `{items(first:500){fail(name:` + text + `)}}`,
		"too many tokens":                     `{hello(name:` + text + `) ` + strings.Repeat("hello ", 220) + `}`,
		"fragment that spreads itself":        `{...F} fragment F on Query{hello(name:` + text + `) ...F}`,
		"a field that panics":                 `{panic hello(name:"x")}`,
	}
	variables := map[string]string{
		"enum":             `query($v:Color){items(color:$v){name}}`,
		"number":           `query($v:Int){items(first:$v){name}}`,
		"object":           `query($v:Filter){items(filter:$v){name}}`,
		"scalar":           `query($v:Word){items(word:$v){name}}`,
		"boolean":          `query($v:Boolean!){hello @include(if:$v)}`,
		"unknown type":     `query($v:Nope){hello(name:$v)}`,
		"another position": `query($v:Int){hello(name:$v)}`,
	}
	values := []string{
		text, `[` + text + `]`, `{"word":` + text + `}`, `{"colors":[` + text + `]}`, `{"colors":` + text + `}`, `{"limit":` + text + `}`,
		`{` + text + `:1}`, `{"and":[{` + text + `:1}]}`, `{"and":` + text + `}`, `{"and":[{"limit":{` + text + `:1}}]}`,
	}
	bodies := map[string]string{
		"no JSON": canary, "batch": `[{"query":` + text + `}]`, "half": `{"query":` + text, "no object": text, "more behind it": `{"query":"{hello}"}` + text,
		"query of another kind": `{"query":{"a":` + text + `}}`, "variables of another kind": `{"query":"{hello}","variables":` + text + `}`,
		"extensions of another kind": `{"query":"{hello}","extensions":` + text + `}`, "operationName of another kind": `{"query":"{hello}","operationName":[` + text + `]}`,
		"documentId of another kind": `{"documentId":[` + text + `]}`, "unknown documentId": `{"documentId":` + text + `}`,
		"unknown operation": `{"query":"query A{hello}","operationName":` + text + `}`,
		"hash":              `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":` + text + `}}}`,
		"wrong hash":        `{"query":"{hello}","extensions":{"persistedQuery":{"version":1,"sha256Hash":` + text + `}}}`,
		"version of a hash": `{"extensions":{"persistedQuery":{"version":` + text + `,"sha256Hash":"a"}}}`,
		"twice":             `{` + text + `:1,` + text + `:2}`, "no UTF-8": "{\"query\":\"\xff" + canary + "\"}",
		"too large": `{"query":"{hello}","x":"` + strings.Repeat(canary, 300) + `"}`, "deep": strings.Repeat(`{`+text+`:`, 120),
	}
	for name, document := range documents {
		bodies["document, "+name] = marshal(t, map[string]any{"query": document, "operationName": map[bool]any{true: canary, false: nil}[name == "unknown operation"]})
	}
	for kind, document := range variables {
		for i, value := range values {
			bodies[fmt.Sprintf("variable, %s %d", kind, i)] = `{"query":` + marshal(t, document) + `,"variables":{"v":` + value + `}}`
		}
	}
	var calls []call
	names := []string{}
	add := func(name string, c call) {
		names = append(names, name)
		calls = append(calls, c)
	}
	everywhere := func(c call) call {
		c.header = http.Header{
			"Cookie": {"kairship_stream=" + canary}, "X-Secret": {canary}, "Kairship-Consistency-Token": {canary}, "User-Agent": {canary},
			"Traceparent": {canary}, "Last-Event-Id": {canary}, "Referer": {"https://" + canary}, "X-Apollo-Operation-Name": {canary},
		}
		return c
	}
	for name, body := range bodies {
		for _, accept := range []string{plainJSON, graphQLJSON, "text/event-stream"} {
			add(name, everywhere(call{body: body, accept: accept}))
		}
	}
	for name, document := range documents {
		query := url.Values{"query": {document}, canary: {canary}, "variables": {`{"v":` + text + `}`}}
		if name == "unknown operation" {
			query.Set("operationName", canary)
		}
		add("GET, "+name, everywhere(call{method: http.MethodGet, path: "/graphql?" + query.Encode(), accept: graphQLJSON}))
	}
	for name, c := range map[string]call{
		"bad escape": {method: http.MethodGet, path: "/graphql?query=%zz" + canary}, "bad variables": {method: http.MethodGet, path: "/graphql?query={hello}&variables=" + canary},
		"method": {method: http.MethodPut, body: canary}, "content type": {body: canary, contentType: "text/plain; x=" + canary},
		"media type": {body: canary, accept: "text/" + canary}, "token": {token: canary, body: canary}, "session": {path: "/graphql/session", token: canary, body: canary},
		"nothing there": {method: http.MethodGet, path: "/" + canary}, "form": {body: "query=" + canary, contentType: "application/x-www-form-urlencoded"},
		"multipart": {body: "--x\r\n\r\n" + canary, contentType: "multipart/form-data; boundary=x"},
	} {
		add(name, everywhere(c))
	}
	refused := 0
	for i, c := range calls {
		servers := []testServer{s}
		if strings.Contains(c.body, "query") {
			servers = append(servers, trusting)
		}
		for _, on := range servers {
			r := on.do(t, c)
			if strings.Contains(r.body, `"errors"`) || r.status >= 400 {
				refused++
			}
			if strings.Contains(r.body, canary) || strings.Contains(fmt.Sprint(r.header), canary) {
				t.Errorf("%s: the answer repeats the secret:\n%v\n%s", names[i], r.header, r.body)
			}
			if n := strings.Count(r.body, "INTERNAL"); n > 0 && !strings.Contains(names[i], "panics") {
				t.Errorf("%s: %s", names[i], r.body)
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d requests were refused", refused)
	}
	for _, log := range []*logBuffer{s.log, trusting.log} {
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, canary) {
				t.Errorf("the log has the secret: %s", line)
			}
		}
	}
}

// TestLogNamesFieldsAsTheSchemaDoes has a field fail under an alias that is a secret.
func TestLogNamesFieldsAsTheSchemaDoes(t *testing.T) {
	s := start(t, map[string]error{"x": errors.New("it broke")}, nil)
	s.query(t, `{hunter2:items(first:2){s3cr3t:fail(name:"x")}}`, nil)
	if log := s.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "s3cr3t") || !strings.Contains(log, `"path":"items[0].fail"`) && !strings.Contains(log, `"path":"items[1].fail"`) {
		t.Errorf("the log has %s", log)
	}
}

// TestNamesStay keeps errors useful: what a field, an argument or a type is called is
// no secret, and errors without it do not help.
func TestNamesStay(t *testing.T) {
	s := start(t, nil, nil)
	for document, says := range map[string][]string{
		`{helo}`:                                 {`Cannot query field "helo" on type "Query"`, "Did you mean", "hello"},
		`{hello(nam:"x")}`:                       {`Unknown argument "nam" on field "Query.hello"`},
		`{items(color:REDD){name}}`:              {`does not exist in "Color" enum`, "RED"},
		`{items(first:"x"){name}}`:               {`Int cannot represent non-integer value`},
		`{items(filter:{nope:1}){name}}`:         {`Field "nope" is not defined by type "Filter"`},
		`{...F}`:                                 {`Unknown fragment "F"`},
		`query($a:Nope){hello}`:                  {`Unknown type "Nope"`},
		`{hello`:                                 {`Expected Name, found \u003cEOF\u003e`},
		`{hello "x"}`:                            {`Expected Name, found String`},
		`query($c:Color){items(color:$c){name}}`: {`the variable $c must be a value of the enum Color`, `"argument":"color"`},
	} {
		_, body := s.query(t, document, map[string]any{"c": "BLUE"})
		text := marshal(t, body)
		for _, part := range says {
			if !strings.Contains(text, part) && !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), part) {
				t.Errorf("%s: %s does not say %s", document, text, part)
			}
		}
	}
}

func TestCodesAreKnown(t *testing.T) {
	for _, code := range []apierror.Code{apierror.CodePersistedQueryNotFound, apierror.CodePersistedQueryNotSupported} {
		if !slices.Contains(apierror.Codes(), code) || code.HTTPStatus() != http.StatusBadRequest {
			t.Errorf("%s: not in the list, or of status %d", code, code.HTTPStatus())
		}
	}
}
