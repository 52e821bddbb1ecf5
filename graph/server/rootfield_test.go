package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// TestMutationsFailOneByOne: a mutation that fails costs no other one its result.
func TestMutationsFailOneByOne(t *testing.T) {
	conflict := apierror.New(apierror.CodeConflict, "it moved")
	done := func(name string) any { return map[string]any{"token": "token-" + name} }
	for _, tt := range []struct {
		name, document string
		data           map[string]any
		codes          map[string]any // by the path of the error
		begun          []string
		outcome        string
		why            string
	}{
		{
			name: "the second fails", document: `mutation{a:change(name:"a"){token} b:change(name:"conflict"){token}}`,
			data: map[string]any{"a": done("a"), "b": nil}, codes: map[string]any{"b": "CONFLICT"}, begun: []string{"a", "conflict"}, outcome: "partial",
			why: "a was done, and its token is needed",
		},
		{
			name: "the first fails", document: `mutation{a:change(name:"conflict"){token} b:change(name:"b"){token}}`,
			data: map[string]any{"a": nil, "b": done("b")}, codes: map[string]any{"a": "CONFLICT"}, begun: []string{"conflict", "b"}, outcome: "partial",
			why: "those that follow are run, as the specification has it",
		},
		{
			name: "all fail", document: `mutation{a:change(name:"conflict"){token} b:change(name:"conflict"){token}}`,
			data: map[string]any{"a": nil, "b": nil}, codes: map[string]any{"a": "CONFLICT", "b": "CONFLICT"}, begun: []string{"conflict", "conflict"}, outcome: "failed",
			why: "nothing was done, although there is a data entry",
		},
		{
			name: "what is read of a payload fails", document: `mutation{a:change(name:"a"){token} b:change(name:"b"){token fail(name:"conflict")}}`,
			data: map[string]any{"a": done("a"), "b": nil}, codes: map[string]any{"b fail": "CONFLICT"}, begun: []string{"a", "b"}, outcome: "partial",
			why: "a field that may not be null takes its payload with it, and no other one",
		},
		{
			name: "the deadline passes", document: `mutation{a:change(name:"a"){token} b:change(name:"slow"){token} c:change(name:"c"){token}}`,
			data: map[string]any{"a": done("a"), "b": nil, "c": nil}, codes: map[string]any{"b": "TIMEOUT", "c": "TIMEOUT"}, begun: []string{"a", "slow"}, outcome: "partial",
			why: "what has not begun when it passes does not begin",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, map[string]error{"conflict": conflict}, func(c *server.Config) {
				c.RequestTimeout = time.Second
				c.ResponseExtensions = func(context.Context) map[string]any { return map[string]any{"plan": "p"} }
			})
			r, body := s.query(t, tt.document, nil)
			codes := map[string]any{}
			for _, e := range body["errors"].([]any) {
				path := strings.Trim(fmt.Sprint(e.(map[string]any)["path"]), "[]")
				codes[path] = extensions(e)["code"]
				if len(e.(map[string]any)["locations"].([]any)) != 1 {
					t.Errorf("an error without its place: %v", e)
				}
			}
			if d := cmp.Diff(tt.data, body["data"]); d != "" || r.status != http.StatusOK {
				t.Errorf("HTTP %d, data (-want +got): %s\n%s", r.status, tt.why, d)
			}
			if d := cmp.Diff(tt.codes, codes); d != "" {
				t.Errorf("errors (-want +got): %s\n%s", tt.why, d)
			}
			if d := cmp.Diff(tt.begun, s.changes.begun); d != "" {
				t.Errorf("begun (-want +got): %s\n%s", tt.why, d)
			}
			if d := cmp.Diff(map[string]any{"plan": "p"}, body["extensions"]); d != "" {
				t.Errorf("the extensions of a part that was done (-want +got):\n%s", d)
			}
			lines := s.log.lines(t)
			if got := lines[len(lines)-1]["outcome"]; got != tt.outcome {
				t.Errorf("the audit says %v, want %s: %s", got, tt.outcome, tt.why)
			}
		})
	}
}

// TestLateMutationSaysThatNothingWasDone, and one that was under way that it may have been.
func TestLateMutationSaysThatNothingWasDone(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.RequestTimeout = 100 * time.Millisecond })
	_, body := s.query(t, `mutation{b:change(name:"slow"){token} c:change(name:"c"){token}}`, nil)
	errs := body["errors"].([]any)
	if len(errs) != 2 || !strings.Contains(fmt.Sprint(errs[0]), "read the object to see whether it was changed") || !strings.Contains(fmt.Sprint(errs[1]), "it changed nothing") {
		t.Errorf("got %v", errs)
	}
}

// TestClientThatGoesAway: what has not begun by then does not begin, and the audit has
// what became of the operation.
func TestClientThatGoesAway(t *testing.T) {
	s := start(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/graphql",
		strings.NewReader(operation(t, `mutation Two{a:change(name:"a"){token} b:change(name:"slow"){token} c:change(name:"c"){token}}`, nil)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin")
	req.Header.Set("Content-Type", plainJSON)
	go func() {
		defer cancel()
		_ = poll.Try(ctx, patience, func(context.Context) error {
			if !s.changes.has("slow") {
				return errors.New("slow has not begun")
			}
			return nil
		})
	}()
	if resp, err := s.Client().Do(req); err == nil {
		resp.Body.Close()
		t.Fatalf("got an answer with status %d", resp.StatusCode)
	}
	s.busy.Wait()
	if d := cmp.Diff([]string{"a", "slow"}, s.changes.begun); d != "" {
		t.Errorf("begun (-want +got):\n%s", d)
	}
	lines := s.log.lines(t)
	line := lines[len(lines)-1]
	if line["msg"] != "audit" || line["operation"] != "Two" || line["outcome"] != "partial" || line["errors"].(map[string]any)["TIMEOUT"] != 2.0 {
		t.Errorf("the audit does not have it: %v", line)
	}
}
