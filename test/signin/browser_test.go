// Package signin_test signs in at a real OpenID Connect provider, as browsers do, on a running fleet.
package signin_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// browser keeps cookies and follows redirects, and has a page of Kairship open.
type browser struct {
	t    *testing.T
	on   *fleet.Fleet
	home string
	http *http.Client
}

// newBrowser has Kairship's page open at an address of it.
func newBrowser(t *testing.T, on *fleet.Fleet, home string) *browser {
	t.Helper()
	if on.IdentityURL == "" {
		t.Fatal("the fleet has no OpenID Connect provider: install Node.js with npm, and run `make ui`")
	}
	ca, err := os.ReadFile(on.KairshipCAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, on: on, home: home, http: &http.Client{Jar: jar, Transport: transport, Timeout: 20 * time.Second}}
}

// answer is what the browser got, and where it is.
type answer struct {
	status int
	body   string
	at     *url.URL
}

func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	response, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{response.StatusCode, string(body), response.Request.URL}
}

// open follows a link.
func (b *browser) open(address string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

// post is what the page sends.
func (b *browser) post(path, body string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.home+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

var action = regexp.MustCompile(`<form method="post"`)

// signIn signs a person in with a password, and returns where that leads.
func (b *browser) signIn(person, password string) answer {
	b.t.Helper()
	form := b.open(b.home + "/session/signin?return=/graphiql")
	if form.at.Path == "/graphiql" {
		return form // The provider knows this browser.
	}
	if !action.MatchString(form.body) {
		b.t.Fatalf("the provider has no form: HTTP %d at %s: %s", form.status, form.at, form.body)
	}
	return b.submit(form, url.Values{"person": {person}, "password": {password}})
}

// submit sends the form of a page.
func (b *browser) submit(form answer, fields url.Values) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, form.at.String(), strings.NewReader(fields.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// password is a person's password.
func (b *browser) password(person string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.on.Passwords[person])
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// viewer is who the page is for, and how many instances they see.
type viewer struct {
	Name      string
	Instances int
	Code      string
}

func (b *browser) viewer() viewer {
	b.t.Helper()
	got := b.post("/graphql", `{"query": "{ viewer { username } instances { totalCount } }"}`)
	var answer struct {
		Data *struct {
			Viewer struct {
				Username string `json:"username"`
			} `json:"viewer"`
			Instances struct {
				TotalCount int `json:"totalCount"`
			} `json:"instances"`
		} `json:"data"`
		Errors []struct {
			Extensions struct {
				Code string `json:"code"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
		b.t.Fatalf("%v: %s", err, got.body)
	}
	if len(answer.Errors) > 0 {
		return viewer{Code: answer.Errors[0].Extensions.Code}
	}
	return viewer{Name: answer.Data.Viewer.Username, Instances: answer.Data.Instances.TotalCount}
}
