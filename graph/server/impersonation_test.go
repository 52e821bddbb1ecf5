package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/graph/server/session"
)

// TestImpersonationIsRefused sends what Kubernetes would serve as another user, by every
// way in: a caller whose headers were ignored would be served with their own rights.
func TestImpersonationIsRefused(t *testing.T) {
	s := start(t, nil, nil)
	query := call{body: operation(t, "{hello}", nil), accept: graphQLJSON}
	events := call{body: operation(t, threeEvents, nil), accept: eventStream}
	asUser := http.Header{"Impersonate-User": {"bob"}}
	for _, tt := range []struct {
		name   string
		call   call
		header http.Header
		status int
		why    string
	}{
		{"none", query, nil, 200, "it asks for nothing special"},
		{"user", query, asUser, 400, "the caller would be served as themselves"},
		{"application/json", call{body: query.body, accept: plainJSON}, asUser, 400, "no document was read, so old clients look at the status"},
		{"group alone", query, http.Header{"Impersonate-Group": {"viewers"}}, 400, "an API server refuses it too"},
		{"extra", query, http.Header{"Impersonate-Extra-Scopes": {"read"}}, 400, "one of all that begin so"},
		{"no such header", query, http.Header{"Impersonate-Nothing": {"x"}}, 400, "one that is misspelled asks for the same"},
		{"empty", query, http.Header{"Impersonate-User": {""}}, 400, "it is there"},
		{"another word", query, http.Header{"Impersonated": {"bob"}}, 200, "it means nothing to Kubernetes either"},
		{"GET", call{method: http.MethodGet, path: "/graphql?" + url.Values{"query": {"{hello}"}}.Encode()}, asUser, 400, "the method does not matter"},
		{"server-sent events", events, asUser, 400, "the transport does not matter"},
		{"session", call{path: session.Path}, asUser, 400, "its cookie would be good for the caller's own rights"},
		{"no token", call{token: "none", body: query.body}, asUser, 400, "the token is not looked at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.call.header = tt.header
			r := s.do(t, tt.call)
			if r.status != tt.status {
				t.Errorf("HTTP %d, want %d: %s\n%s", r.status, tt.status, tt.why, r.body)
			}
			if tt.status == http.StatusBadRequest && (!strings.Contains(r.body, `"INVALID"`) || !strings.Contains(r.body, "without them")) {
				t.Errorf("the answer does not say what to do: %s", r.body)
			}
			if strings.Contains(r.body, "bob") {
				t.Errorf("the answer repeats the header: %s", r.body)
			}
		})
	}
	t.Run("WebSocket", func(t *testing.T) {
		header := http.Header{"Authorization": {"Bearer admin"}, "Impersonate-User": {"bob"}}
		if _, status, err := s.tryDial(t, header); status != http.StatusBadRequest {
			t.Errorf("HTTP %d, %v, want HTTP 400", status, err)
		}
	})
	t.Run("connection_init", func(t *testing.T) {
		c := s.dial(t, nil)
		c.send(t, `{"type":"connection_init","payload":{"Authorization":"Bearer admin","impersonate-user":"bob"}}`)
		c.wantClose(t, 4400, "Impersonate")
	})
}
