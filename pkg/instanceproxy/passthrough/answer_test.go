package passthrough_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestRedirects(t *testing.T) {
	const below = "/instances/alpha/proxy"
	for _, tt := range []struct {
		location string
		// want is the Location that the client gets; empty where it gets none.
		want, why string
	}{
		{"/api/v1/pods/", below + "/api/v1/pods/", "a path of the instance is below its proxy"},
		{"/api/v1/pods?a=b%2Fc#d", below + "/api/v1/pods?a=b%2Fc#d", "with its query"},
		{"pods/", below + "/api/pods/", "a path from where the request was"},
		{"?x=1", below + "/api/v1?x=1", "another query"},
		{"SELF/api/", below + "/api/", "the instance under its own address"},
		{"/instances/beta/proxy/api/v1/namespaces/shop", below + "/instances/beta/proxy/api/v1/namespaces/shop", "no other instance: a client would repeat its DELETE there, as the same person"},
		{"/graphql", below + "/graphql", "nothing else of Kairship's"},
		{"/../../../instances/beta/proxy/", below + "/instances/beta/proxy/", "nor from above"},
		{"/%2e%2e/%2e%2e/beta/proxy/", "", "nor in disguise"},
		{"https://evil.example.com/api/v1", "", "no other server: client-go would send its token there"},
		{"//evil.example.com/api/v1", "", "no other server without a scheme"},
		{"https://SELFHOST/api", "", "nor another server there"},
		{"mailto:alice@example.com", "", "no address at all"},
		{"https://[", "", "none that can be read"},
	} {
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
				location := strings.NewReplacer("SELFHOST", r.Host, "SELF", "http://"+r.Host).Replace(tt.location)
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			}, nil)
			response, body := s.do(t, "t-alice", http.MethodDelete, below+"/api/v1", nil) //nolint:bodyclose // do closes it.
			if got := response.Header.Get("Location"); got != tt.want {
				t.Errorf("%d to %s: %s: got Location %q, want %q", status, tt.location, tt.why, got, tt.want)
			}
			wantStatus := status
			if tt.want == "" {
				wantStatus = http.StatusServiceUnavailable
				if strings.Contains(body, "evil") {
					t.Errorf("%d to %s: the answer repeats the address: %s", status, tt.location, body)
				}
			}
			if response.StatusCode != wantStatus {
				t.Errorf("%d to %s: %s: got status %d, want %d", status, tt.location, tt.why, response.StatusCode, wantStatus)
			}
		}
	}
}

func TestLocationOfWhatWasCreated(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(http.StatusCreated)
	}, nil)
	response, _ := s.do(t, "t-alice", http.MethodPost, "/instances/alpha/proxy/api/v1/pods", nil) //nolint:bodyclose // do closes it.
	if response.StatusCode != http.StatusCreated {
		t.Errorf("no client follows the Location of an answer that is no redirect; got status %d", response.StatusCode)
	}
}

// A page below an instance is in Kairship's origin, where a browser would let its
// scripts ask for whatever the person's certificate opens.
func TestPagesOfAnInstance(t *testing.T) {
	for _, tt := range []struct {
		// contentType may be several, with bars in between.
		contentType string
		confined    bool
		why         string
	}{
		{"application/json", false, "no browser runs it"},
		{"application/vnd.kubernetes.protobuf;stream=watch", false, "nor this"},
		{"application/json;as=Table;v=v1", false, "nor a table"},
		{"text/plain; charset=utf-8", false, "nor a log"},
		{"text/html; charset=utf-8", true, "a page"},
		{"TEXT/HTML", true, "a page"},
		{"image/svg+xml", true, "a picture may have scripts"},
		{"application/xhtml+xml", true, "a page"},
		{"text/xml", true, "it may be turned into a page"},
		{"", true, "a browser would guess"},
		{"text/html;", true, "one that is hard to read"},
		{"application/json|text/html", true, "two, of which a browser may take the last"},
		{"text/html|application/json", true, "or the first"},
		{"application/json|application/json", true, "or whatever it makes of them"},
		{"application/json, text/html", true, "two in one"},
	} {
		s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if tt.contentType != "" {
				w.Header()["Content-Type"] = strings.Split(tt.contentType, "|")
			}
			w.Header().Set("Clear-Site-Data", `"*"`)
			w.Header().Set("Alt-Svc", `h2="evil.example.com:443"`)
			w.Header().Set("Service-Worker-Allowed", "/")
			w.Header().Set("Access-Control-Allow-Origin", "https://evil.example.com")
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			w.Header().Set("Kairship-Error-Code", "NOT_FOUND")
			w.Header().Set("X-Content-Type-Options", "sniff")
			w.Write([]byte("<script>")) //nolint:errcheck // The test ends.
		}, nil)
		response, _ := s.do(t, "t-alice", http.MethodGet, "/instances/alpha/proxy/api/v1/namespaces/shop/services/evil/proxy/", nil) //nolint:bodyclose // do closes it.
		if got := response.Header.Get("Content-Security-Policy") == "sandbox"; got != tt.confined {
			t.Errorf("%q: %s: confined is %t, want %t", tt.contentType, tt.why, got, tt.confined)
		}
		if got := response.Header.Values("X-Content-Type-Options"); len(got) != 1 || got[0] != "nosniff" {
			t.Errorf("%q: X-Content-Type-Options is %q, want nosniff alone", tt.contentType, got)
		}
		for _, name := range []string{"Clear-Site-Data", "Alt-Svc", "Service-Worker-Allowed", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Kairship-Error-Code"} {
			if value := response.Header.Get(name); value != "" {
				t.Errorf("%q: the instance speaks for Kairship's origin: %s: %s", tt.contentType, name, value)
			}
		}
	}
}

func TestOriginThatAnInstanceSees(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Saw-Origin", r.Header.Get("Origin")) }, nil)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	for _, tt := range []struct {
		header    []string
		want, why string
	}{
		{[]string{"Origin", s.url}, "", "Kairship's means nothing there"},
		{append([]string{"Origin", s.url}, upgrade...), "https://alpha", "an API server takes no WebSocket from a browser without one"},
		{upgrade, "", "a client that is no browser sends none"},
	} {
		response, _ := s.do(t, "t-alice", http.MethodGet, "/instances/alpha/proxy/api/v1/configmaps?watch=1", nil, tt.header...) //nolint:bodyclose // do closes it.
		if got := response.Header.Get("Saw-Origin"); got != tt.want || response.StatusCode != http.StatusOK {
			t.Errorf("%v: %s: got status %d, origin %q, want %q", tt.header, tt.why, response.StatusCode, got, tt.want)
		}
	}
}
