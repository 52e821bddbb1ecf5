package server_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
)

// documentedStatuses are the rows of the table of docs/graphql.md.
func documentedStatuses(t *testing.T) map[apierror.Code][]int {
	t.Helper()
	guide, err := os.ReadFile("../../docs/graphql.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(guide), "| code | means | HTTP status |\n| --- | --- | --- |\n")
	if !found {
		t.Fatal("docs/graphql.md has no table of codes and statuses")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	row := regexp.MustCompile("^\\| `([A-Z_]+)` \\| .* \\| (.*) \\|$")
	rows := map[apierror.Code][]int{}
	for line := range strings.Lines(table) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("no row: %s", line)
		}
		for _, text := range regexp.MustCompile(`\b[1-5]\d\d\b`).FindAllString(m[2], -1) {
			status, _ := strconv.Atoi(text)
			rows[apierror.Code(m[1])] = append(rows[apierror.Code(m[1])], status)
		}
		slices.Sort(rows[apierror.Code(m[1])])
	}
	return rows
}

// TestDocumentedStatusesAreSent provokes every status of every code, and compares what
// is sent with what docs/graphql.md says.
func TestDocumentedStatusesAreSent(t *testing.T) {
	query := call{body: `{"query":"{hello}"}`}
	begin := func(err error) func(*server.Config) {
		return func(c *server.Config) {
			c.Begin = func(context.Context, http.Header, map[string]any) (context.Context, error) { return nil, err }
		}
	}
	persisted := call{body: `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + strings.Repeat("a", 64) + `"}}}`}
	type provocation struct {
		call   call
		change func(*server.Config)
		code   apierror.Code
		status int
	}
	all := []provocation{
		{call{token: "wrong", body: query.body}, nil, apierror.CodeUnauthenticated, 401},
		{call{token: "mallory", body: query.body}, nil, apierror.CodeForbidden, 403},
		{query, func(c *server.Config) {
			c.TrustedDocuments = func() document.Trusted { return document.Trusted{} }
		}, apierror.CodeForbidden, 403},
		{call{body: `{"query":"{nope}"}`}, nil, apierror.CodeInvalid, 400},
		{call{body: `{"query":"query($n:Int!){items(first:$n){name}}"}`}, nil, apierror.CodeInvalid, 400},
		{call{body: `no JSON`}, nil, apierror.CodeInvalid, 400},
		{query, begin(apierror.Invalid("consistencyToken", "it is none")), apierror.CodeInvalid, 400},
		{call{method: http.MethodPut, body: query.body}, nil, apierror.CodeInvalid, 405},
		{call{accept: "text/html", body: query.body}, nil, apierror.CodeInvalid, 406},
		{call{body: `{"query":"{hello}","x":"` + strings.Repeat("x", 2000) + `"}`}, nil, apierror.CodeInvalid, 413},
		{call{method: http.MethodGet, path: "/graphql?" + url.Values{"query": {"{hello}"}, "x": {strings.Repeat("x", 2000)}}.Encode()}, nil, apierror.CodeInvalid, 414},
		{call{contentType: "application/x-www-form-urlencoded", body: "query={hello}"}, nil, apierror.CodeInvalid, 415},
		{call{body: `{"query":"{` + aliases(51) + `}"}`}, nil, apierror.CodeQueryTooComplex, 400},
		{query, func(c *server.Config) {
			c.Quotas = quota.New(quota.Limits{OperationsBurst: 1, OperationsPerSecond: 1}, c.Now)
		}, apierror.CodeRateLimited, 429},
		{persisted, nil, apierror.CodePersistedQueryNotFound, 400},
		{persisted, func(c *server.Config) { c.PersistedDocuments = -1 }, apierror.CodePersistedQueryNotSupported, 400},
		{query, begin(apierror.New(apierror.CodeTimeout, "the deadline passed")), apierror.CodeTimeout, 504},
		{call{token: "undecided", body: query.body}, nil, apierror.CodeTimeout, 503},
		{query, func(c *server.Config) {
			c.Begin = func(context.Context, http.Header, map[string]any) (context.Context, error) { panic("a bug") }
		}, apierror.CodeInternal, 500},
	}
	// These come of what is executed.
	for _, code := range []apierror.Code{
		apierror.CodeNotFound, apierror.CodeAlreadyExists, apierror.CodeConflict, apierror.CodeStaleCursor, apierror.CodeInstanceUnavailable, apierror.CodeIndexUnavailable,
	} {
		all = append(all, provocation{call{body: `{"query":"{failRequired(name:\"` + string(code) + `\")}"}`}, nil, code, 200})
	}
	sent := map[apierror.Code][]int{}
	for _, p := range all {
		errs := map[string]error{string(p.code): apierror.New(p.code, "provoked")}
		s := start(t, errs, func(c *server.Config) {
			c.MaxBodyBytes, c.MaxCost = 1000, 50
			if p.change != nil {
				p.change(c)
			}
		})
		if p.call.accept == "" {
			p.call.accept = graphQLJSON
		}
		r := s.do(t, p.call)
		if p.code == apierror.CodeRateLimited {
			r = s.do(t, p.call)
		}
		if got := codeOf(decode(t, r.body)); got != string(p.code) || r.status != p.status {
			t.Errorf("%s %s: HTTP %d %s, want %d %s\n%s", p.call.method, p.call.body, r.status, got, p.status, p.code, r.body)
		}
		if _, executed := decode(t, r.body)["data"]; executed != (p.status == http.StatusOK) {
			t.Errorf("%s: HTTP %d with an entry data: %v", p.code, r.status, executed)
		}
		if !slices.Contains(sent[p.code], r.status) {
			sent[p.code] = append(sent[p.code], r.status)
			slices.Sort(sent[p.code])
		}
	}
	if d := cmp.Diff(documentedStatuses(t), sent); d != "" {
		t.Errorf("docs/graphql.md and what is sent (-documented +sent):\n%s", d)
	}
	for _, code := range apierror.Codes() {
		if len(sent[code]) == 0 {
			t.Errorf("%s is not provoked", code)
		}
	}
}
