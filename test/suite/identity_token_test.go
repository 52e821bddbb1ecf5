package suite

import (
	"net/http"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestAnExpiredTokenIsNoToken signs a token once more with another end of its
// life, as the global cluster itself would have: nothing else is wrong with it.
func TestAnExpiredTokenIsNoToken(t *testing.T) {
	on := open(t)
	token := serviceAccountToken(t, on, "global")
	now := time.Now()
	for _, tt := range []struct {
		name   string
		change map[string]any
		status int
	}{
		{"the same again", nil, http.StatusOK},
		{"expired an hour ago", map[string]any{"iat": now.Add(-2 * time.Hour).Unix(), "nbf": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Hour).Unix()}, http.StatusUnauthorized},
		{"valid from tomorrow on", map[string]any{"nbf": now.Add(24 * time.Hour).Unix(), "exp": now.Add(25 * time.Hour).Unix()}, http.StatusUnauthorized},
		{"for another service", map[string]any{"aud": []string{"https://elsewhere.example.com"}}, http.StatusUnauthorized},
		{"from another issuer", map[string]any{"iss": "https://elsewhere.example.com"}, http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sendAs(t, on, "Bearer "+on.fleet.Resign(t, "global", token, tt.change), gql.Response)
			if tt.status == http.StatusUnauthorized {
				refused(t, r, tt.status, "UNAUTHENTICATED")
			} else if r.Status != tt.status {
				t.Errorf("HTTP %d, want %d: %s", r.Status, tt.status, r.Body)
			}
		})
	}
}
