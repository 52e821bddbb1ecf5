package suite

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// patience is how long a caller may wait for the word that who they are can't be
// told: Kairship gives the global cluster three seconds.
const patience = 4 * time.Second

// answering is a server that answers everything alike.
func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestIdentitiesWhileTheGlobalClusterIsDown takes the global cluster's answers about people away.
// Who asks can't be told then: that is neither a yes nor a no, and comes with a
// status that says so. Those who are known already are served for a while.
func TestIdentitiesWhileTheGlobalClusterIsDown(t *testing.T) {
	on, g := behind(t)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"fails", answering(http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`)},
		{"is overloaded", answering(http.StatusServiceUnavailable, "")},
		{"sends a page for people", answering(http.StatusOK, "<html>hello</html>")},
		{"hangs up", func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		// A global cluster that starts lets no user do anything for a moment.
		{"does not let Kairship ask", answering(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)},
	} {
		for _, api := range []string{fleet.AuthenticationAPI, fleet.AuthorizationAPI} {
			t.Run(api+" "+tt.name, func(t *testing.T) {
				known, token := serviceAccountToken(t, on, "global"), serviceAccountToken(t, on, "global")
				if r := sendAs(t, on, "Bearer "+known, gql.JSON); r.Status != http.StatusOK {
					t.Fatalf("before, a user gets HTTP %d: %s", r.Status, r.Body)
				}
				g.Answer(api, tt.answer)
				defer g.Answer(api, nil)
				if r := sendAs(t, on, "Bearer "+known, gql.JSON); r.Status != http.StatusOK {
					t.Errorf("who is known already gets HTTP %d: %s", r.Status, r.Body)
				}
				// Nothing is known of the other yet.
				accepts := []string{gql.Response, gql.JSON}
				if tt.name == "hangs" {
					accepts = accepts[:1] // It takes three seconds each.
				}
				for _, accept := range accepts {
					r := sendAs(t, on, "Bearer "+token, accept)
					if r.Took > patience {
						t.Errorf("the answer took %s", r.Took)
					}
					undecided(t, r)
				}
				if r := sendAs(t, on, "", gql.JSON); r.Status != http.StatusUnauthorized {
					t.Errorf("who sends no token gets HTTP %d: that needs no review", r.Status)
				}
				for _, path := range []string{"/healthz", "/graphiql"} {
					if status, err := statusOf(t.Context(), on.url+path); err != nil || status != http.StatusOK {
						t.Errorf("%s: HTTP %d, %v", path, status, err)
					}
				}
			})
		}
	}
	poll.Until(t, forgotten, "who could not be told is served when the global cluster answers again", func(ctx context.Context) error {
		_, _, err := gql.Query[any](ctx, on.as(t, "bob"), anyQuery, nil)
		return err
	})
}

// undecided checks the answer to a user about whom nothing could be found out: an
// error of ours, no data and no refusal.
func undecided(t *testing.T, r *gql.Result) {
	t.Helper()
	if r.Status != http.StatusServiceUnavailable || r.HasData || len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "TIMEOUT" {
		t.Fatalf("want HTTP 503, no data and one error TIMEOUT; got HTTP %d: %s", r.Status, r.Body)
	}
	if e := r.Errors[0]; e.Extensions.TraceID == "" || strings.Contains(e.Message, "127.0.0.1") {
		t.Errorf("the error has trace ID %q and says %q", e.Extensions.TraceID, e.Message)
	}
}
