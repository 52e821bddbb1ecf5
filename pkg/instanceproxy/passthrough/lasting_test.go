package passthrough_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

// A stream ends within seconds of the permission that it was begun with.
func TestRevokedWhileItRuns(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(c *passthrough.Config) { c.Recheck = 20 * time.Millisecond })
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/instances/alpha/proxy/api/v1/pods?watch=1", http.NoBody)
	r.Header.Set("Authorization", "Bearer t-alice")
	response, err := http.DefaultTransport.RoundTrip(r) //nolint:bodyclose // It is closed below.
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	ended := make(chan error, 1)
	go func() { _, err := io.ReadAll(response.Body); ended <- err }()
	select {
	case err := <-ended:
		t.Fatalf("it ended with the permission in place: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	s.revoke("alice")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended as if it were complete")
		}
	case <-time.After(15 * time.Second):
		t.Error("it goes on without permission")
	}
}

// expiring is a token that says when it ends.
func expiring(at time.Time) string {
	return "h." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, at.Unix())) + ".s"
}

// A stream ends once there was no answer for too long whether it may go on, and goes on
// over a shorter outage. It ends when its token does, whatever is answered.
func TestEndOfStreams(t *testing.T) {
	const never, soon = time.Hour, 100 * time.Millisecond
	for _, tt := range []struct {
		name            string
		giveUp, recheck time.Duration
		away, outage    bool
		token           string
		ends            bool
		why             string
	}{
		{"no answer", soon, soon / 5, true, false, "t-alice", true, "no stream goes on for ever because no answer comes"},
		{"an outage", never, soon / 5, false, true, "t-alice", false, "the global cluster answers again in time"},
		{"an expired token", never, never, false, false, expiring(time.Now().Add(2 * time.Second)), true, "the token said so itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			finish := make(chan struct{})
			s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				asked <- struct{}{}
				select {
				case <-r.Context().Done():
				case <-finish:
					_, _ = io.WriteString(w, "to its end")
				}
			}, func(c *passthrough.Config) { c.GiveUp, c.Recheck = tt.giveUp, tt.recheck })
			s.set(func() { s.people[tt.token] = authz.User{Name: "alice"} })
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/instances/alpha/proxy/api/v1/pods?watch=1", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+tt.token)
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%+v %v", response, err)
			}
			defer response.Body.Close()
			<-asked
			s.set(func() { s.away = tt.away || tt.outage })
			if tt.outage {
				s.wait(t, 3)
				s.set(func() { s.away = false })
				s.wait(t, 3)
			}
			if !tt.ends {
				close(finish)
			}
			raw, err := io.ReadAll(response.Body)
			if cut := err != nil; cut != tt.ends || !tt.ends && string(raw) != "to its end" {
				t.Errorf("%q, %v: %s", raw, err, tt.why)
			}
		})
	}
}

// A process that stops ends watches, which would hold it up, and nothing else.
func TestStopping(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	release := make(chan struct{})
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-release:
			_, _ = io.WriteString(w, "complete")
		}
	}, func(c *passthrough.Config) { c.Stopping = stopping })
	begin := func(path string) <-chan string {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/instances/alpha/proxy"+path, http.NoBody)
		r.Header.Set("Authorization", "Bearer t-alice")
		response, err := http.DefaultTransport.RoundTrip(r) //nolint:bodyclose // It is closed below.
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan string, 1)
		go func() {
			raw, _ := io.ReadAll(response.Body)
			response.Body.Close()
			ended <- string(raw)
		}()
		return ended
	}
	watch, list := begin("/api/v1/pods?watch=true"), begin("/api/v1/pods")
	stop()
	if got := <-watch; got != "" {
		t.Errorf("the watch: %q", got)
	}
	close(release)
	if got := <-list; got != "complete" {
		t.Errorf("the list was cut off: %q", got)
	}
}
