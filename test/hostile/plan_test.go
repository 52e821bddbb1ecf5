package hostile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// planOf is the plan of an answer, in the shape that the documentation promises and
// nothing besides.
func planOf(t *testing.T, result *gql.Result) *plan.Plan {
	t.Helper()
	var answer struct {
		Extensions struct {
			Plan json.RawMessage `json:"plan"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal(result.Body, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Extensions.Plan == nil {
		return nil
	}
	var got plan.Plan
	dec := json.NewDecoder(bytes.NewReader(answer.Extensions.Plan))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, answer.Extensions.Plan)
	}
	return &got
}

// TestQueriesCostWhatWasSaid runs the ready-made queries of GraphiQL: none may be near
// the limit, and none may send more requests than it was found to cost.
func TestQueriesCostWhatWasSaid(t *testing.T) {
	on := fleet.Open(t)
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "ui", "graphiql", "src", "queries", "*.graphql"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d queries, %v", len(files), err)
	}
	admin, asked := gql.New(on.KairshipURL, on.Token(t, "admin")), 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "subscription") {
			continue
		}
		result, err := admin.Do(t.Context(), gql.Request{Query: string(text)})
		if err != nil || len(result.Errors) > 0 {
			t.Errorf("%s: %v, %v", filepath.Base(name), err, result)
			continue
		}
		asked++
		plan := planOf(t, result)
		sent := 0
		for _, u := range plan.Upstreams {
			sent += u.Requests
		}
		t.Logf("%-22s costs %6d, %2d requests, and sent %d", filepath.Base(name), plan.Cost.Value, plan.Cost.Requests, sent)
		if plan.Cost.Value*3/2 > plan.Cost.Limit {
			t.Errorf("%s costs %d of %d: people will add to it", filepath.Base(name), plan.Cost.Value, plan.Cost.Limit)
		}
		if sent > plan.Cost.Requests {
			t.Errorf("%s sent %d requests and was found to cost %d", filepath.Base(name), sent, plan.Cost.Requests)
		}
	}
	if asked < 4 {
		t.Errorf("only %d queries were asked", asked)
	}
}

// TestPlan asks for the plan in both ways, and without.
func TestPlan(t *testing.T) {
	on := fleet.Open(t)
	admin := gql.New(on.KairshipURL, on.Token(t, "admin"))
	const query = `{ instances(first: 2) { nodes { name workloads(first: 3) { nodes { name policy { name } placements { clusterName } } } } } }`
	result, err := admin.Do(t.Context(), gql.Request{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	got := planOf(t, result)
	if got == nil || got.IndexRequests == 0 || got.DurationMillis <= 0 || got.Cost.Value == 0 || got.Cost.Limit == 0 {
		t.Fatalf("the plan says %+v", got)
	}
	for _, u := range got.Upstreams {
		if u.Kind == "INDEX" && (u.Requests != got.IndexRequests || u.TotalMillis <= 0 || u.LongestMillis > u.TotalMillis || u.Failed != 0) {
			t.Errorf("of the index it says %+v, and %d requests", u, got.IndexRequests)
		}
	}
	caches := map[string]plan.Cache{}
	for _, c := range got.Caches {
		caches[string(c.Name)] = c
	}
	if rows := caches["ROWS"]; rows.Hits == 0 || rows.Misses == 0 {
		t.Errorf("what was read ahead was found again: %+v", got.Caches)
	}
	body := func(extensions string) string {
		raw, err := json.Marshal(query)
		if err != nil {
			t.Fatal(err)
		}
		return `{"query":` + string(raw) + extensions + `}`
	}
	for extensions, want := range map[string]bool{``: false, `,"extensions":{"queryPlan":true}`: true, `,"extensions":{"queryPlan":false}`: false, `,"extensions":{"queryPlan":"yes"}`: false} {
		result := plain(t, on.KairshipURL, on.Token(t, "admin"), body(extensions))
		if got := planOf(t, result) != nil; got != want {
			t.Errorf("with %q there is a plan: %v, want %v", extensions, got, want)
		}
	}
}

// plain sends a body without what the client of the tests asks for by default.
func plain(t *testing.T, address, token, body string) *gql.Result {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/graphql", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {jsonType}, "Accept": {responseType}, "Authorization": {"Bearer " + token}}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return &gql.Result{Status: resp.StatusCode, Body: b.Bytes()}
}

// TestTrustedDocumentsOfAFile starts a server that executes the documents of a file
// alone, and changes the file.
func TestTrustedDocumentsOfAFile(t *testing.T) {
	on := fleet.Open(t)
	const first, second = "query First { viewer { username } }", "query Second { instances { totalCount } }"
	file := filepath.Join(t.TempDir(), "documents.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hash := func(document string) string {
		sum := sha256.Sum256([]byte(document))
		return hex.EncodeToString(sum[:])
	}
	only := func(document string) string { return fmt.Sprintf(`{%q:%q}`, hash(document), document) }
	write(only(first))
	replica := on.Kairship(t, on.NewGateway(t), "--trusted-documents-file="+file)
	served := func(body string) bool {
		return plain(t, "http://"+replica.Address, on.Token(t, "admin"), body).Status == http.StatusOK
	}
	byHash := func(document string) string {
		return fmt.Sprintf(`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}}`, hash(document))
	}
	if !served(byHash(first)) || !served(`{"query":"`+first+`"}`) || served(byHash(second)) || served(`{"query":"`+second+`"}`) || served(`{"query":"{__typename}"}`) {
		t.Error("others than the documents of the file are served")
	}
	write("{") // As while it is being written.
	poll.True(t, 10*time.Second, "the server has read the file", func() bool {
		return strings.Contains(replica.Tail(10), "a file has changed and cannot be used")
	})
	if !served(byHash(first)) {
		t.Error("a file that is wrong for a moment took the documents away")
	}
	write(only(second))
	poll.Until(t, 10*time.Second, "the other document is served, and no longer the first", func(context.Context) error {
		if !served(byHash(second)) || served(byHash(first)) {
			return fmt.Errorf("second: %v, first: %v", served(byHash(second)), served(byHash(first)))
		}
		return nil
	})
}
