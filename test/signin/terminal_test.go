package signin_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// native is the status of what a page sends to the native API of alpha with the browser's cookies.
func (b *browser) native(header http.Header) int {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.home+"/instances/alpha/proxy/apis/apps/v1/namespaces/shop/deployments?watch=true", http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	response, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestTerminal opens what terminals are made of, WebSockets to the native API of an instance, with a session.
func TestTerminal(t *testing.T) {
	on := fleet.Open(t)
	for _, home := range homes(on) {
		socket := func(origin string) http.Header {
			return http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}, "Origin": {origin},
			}
		}
		people := map[string]*browser{}
		for _, person := range []string{"alice", "bob"} {
			people[person] = newBrowser(t, on, home)
			people[person].signIn(person, people[person].password(person))
		}
		for _, c := range []struct {
			who, what string
			header    http.Header
			want      int
		}{
			{"alice", "the own page", socket(home), http.StatusSwitchingProtocols},
			{"alice", "a page of another site", socket("https://evil.example"), http.StatusForbidden},
			{"alice", "a page without a name", socket("null"), http.StatusForbidden},
			{"alice", "no WebSocket", http.Header{"Origin": {home}, "Sec-Fetch-Site": {"same-origin"}}, http.StatusUnauthorized},
			{"bob", "an instance of others", socket(home), http.StatusNotFound},
		} {
			if got := people[c.who].native(c.header); got != c.want {
				t.Errorf("%s, %s, at %s: HTTP %d, want %d", c.who, c.what, home, got, c.want)
			}
		}
		alice := people["alice"]
		alice.post("/session/signout", `{"everywhere": false}`)
		if got := alice.native(socket(home)); got != http.StatusUnauthorized {
			t.Errorf("after signing out, at %s: HTTP %d", home, got)
		}
	}
}
