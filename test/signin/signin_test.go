package signin_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server/signin"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// homes are the addresses of the page, in the clear on this machine, and over TLS.
func homes(on *fleet.Fleet) []string { return []string{on.KairshipURL, on.KairshipTLSURL} }

// TestSignIn signs people in, who then see what they see with a token.
func TestSignIn(t *testing.T) {
	on := fleet.Open(t)
	for _, home := range homes(on) {
		for person, instances := range map[string]int{"admin": 2, "alice": 1, "bob": 1, "mallory": 0} {
			b := newBrowser(t, on, home)
			if got := b.viewer(); got.Code != "UNAUTHENTICATED" {
				t.Errorf("%s, before signing in: %+v", person, got)
			}
			if at := b.signIn(person, b.password(person)); at.at.Path != "/graphiql" || at.at.RawQuery != "" {
				t.Fatalf("%s at %s is led to %s: HTTP %d", person, home, at.at, at.status)
			}
			got := b.viewer()
			if person != "admin" && got.Instances != instances || person == "admin" && got.Instances < instances || got.Name != person {
				t.Errorf("%s at %s: %+v", person, home, got)
			}
			if renewed := b.post("/session/renew", "{}"); renewed.status != http.StatusOK {
				t.Errorf("%s: renewing: HTTP %d: %s", person, renewed.status, renewed.body)
			}
			if again := b.viewer(); again != got {
				t.Errorf("%s, after renewing: %+v", person, again)
			}
			if out := b.post("/session/signout", `{"everywhere": false}`); out.status != http.StatusOK || !strings.Contains(out.body, on.IdentityURL) {
				t.Errorf("%s: signing out: HTTP %d: %s", person, out.status, out.body)
			}
			if after := b.viewer(); after.Code != "UNAUTHENTICATED" {
				t.Errorf("%s, after signing out: %+v", person, after)
			}
		}
	}
}

// TestCookies are all that the browser has: no token is in them or in what it is sent.
func TestCookies(t *testing.T) {
	on := fleet.Open(t)
	b := newBrowser(t, on, on.KairshipTLSURL)
	b.signIn("alice", b.password("alice"))
	if got := b.viewer(); got.Name != "alice" {
		t.Fatalf("it is %+v", got)
	}
	home, err := url.Parse(b.home)
	if err != nil {
		t.Fatal(err)
	}
	cookies := b.http.Jar.Cookies(home)
	if len(cookies) == 0 {
		t.Fatal("there is none")
	}
	for _, c := range cookies {
		if strings.HasPrefix(c.Value, "ey") || strings.Count(c.Value, ".") == 2 {
			t.Errorf("%s looks like a token", c.Name)
		}
		// A cookie that was changed is none.
		if strings.Contains(c.Name, "kairship_session") {
			c.Value = strings.ToUpper(c.Value)
			b.http.Jar.SetCookies(home, []*http.Cookie{{Name: c.Name, Value: c.Value, Path: "/", Secure: true}})
		}
	}
	if got := b.viewer(); got.Code != "UNAUTHENTICATED" {
		t.Errorf("with a cookie that was changed: %+v", got)
	}
	for _, log := range []string{"kairship-apiserver.log", "identity-provider.log"} {
		text, err := os.ReadFile(on.Logs + "/" + log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), b.password("alice")) || strings.Contains(string(text), "eyJ") {
			t.Errorf("%s has a password or a token", log)
		}
	}
}

// TestWrongPassword signs no one in.
func TestWrongPassword(t *testing.T) {
	on := fleet.Open(t)
	for person, password := range map[string]string{"alice": "wrong", "eve": "wrong", "../tokens/admin": "x", "": "", "bob": ""} {
		b := newBrowser(t, on, on.KairshipURL)
		if got := b.signIn(person, password); got.status != http.StatusUnauthorized {
			t.Errorf("%q: HTTP %d at %s", person, got.status, got.at)
		}
		if got := b.viewer(); got.Code != "UNAUTHENTICATED" {
			t.Errorf("%q is %+v", person, got)
		}
	}
}

// TestEverywhere ends all sessions of a person, in all browsers, with the subscriptions in them, and no one else's.
func TestEverywhere(t *testing.T) {
	on := fleet.Open(t)
	browsers := map[string]*browser{}
	for name, person := range map[string]string{"alice": "alice", "alice's phone": "alice", "bob": "bob"} {
		b := newBrowser(t, on, on.KairshipURL)
		b.signIn(person, b.password(person))
		if got := b.viewer(); got.Name != person {
			t.Fatalf("%s: %+v", name, got)
		}
		browsers[name] = b
	}
	// Tokens have seconds.
	time.Sleep(time.Second)
	for round := range 2 {
		if out := browsers["alice"].post("/session/signout", `{"everywhere": true}`); out.status != http.StatusOK {
			t.Fatalf("HTTP %d: %s", out.status, out.body)
		}
		if round == 0 {
			poll.True(t, 2*signin.SignedOutHolds, "the other browser is signed out too", func() bool {
				return browsers["alice's phone"].viewer().Code == "UNAUTHENTICATED"
			})
			if renewed := browsers["alice's phone"].post("/session/renew", "{}"); renewed.status != http.StatusUnauthorized {
				t.Errorf("it is renewed: HTTP %d", renewed.status)
			}
		}
		b := browsers["alice"]
		b.signIn("alice", b.password("alice"))
		if got := b.viewer(); got.Name != "alice" {
			t.Errorf("alice cannot sign in again: %+v", got)
		}
		time.Sleep(time.Second)
	}
	if got := browsers["bob"].viewer(); got.Name != "bob" {
		t.Errorf("bob was signed out: %+v", got)
	}
}

// TestState tells the page whether its person is signed in, until when.
func TestState(t *testing.T) {
	on := fleet.Open(t)
	b := newBrowser(t, on, on.KairshipURL)
	state := func() (s signin.State) {
		t.Helper()
		if err := json.Unmarshal([]byte(b.open(b.home+"/session").body), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := state(); s.SignIn == "" || s.ExpiresAt != nil {
		t.Errorf("before: %+v", s)
	}
	b.signIn("alice", b.password("alice"))
	if s := state(); s.ExpiresAt == nil || s.EndsAt == nil || s.EndsAt.Before(*s.ExpiresAt) || time.Until(*s.ExpiresAt) > 10*time.Minute {
		t.Errorf("after: %+v", s)
	}
	if home, err := url.Parse(b.home); err != nil || !slices.ContainsFunc(b.http.Jar.Cookies(home), func(c *http.Cookie) bool { return c.Name == "kairship_session" }) {
		t.Error("there is no cookie")
	}
}
