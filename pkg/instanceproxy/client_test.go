package instanceproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// alphaWorld is a world with one instance.
func alphaWorld(t *testing.T, handle http.HandlerFunc, tune func(*instanceproxy.Options)) (*world, *apiserver, *instanceproxy.Collection) {
	t.Helper()
	w := newWorld(t)
	s := newAPIServer(t, "alpha", handle)
	s.accept("good")
	w.put("alpha", s.kubeconfig("good"))
	return w, s, w.collection(tune)
}

func TestWhoARequestIsSentAs(t *testing.T) {
	_, _, c := alphaWorld(t, nil, nil)
	alice := authz.User{Name: "alice", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"scopes": {"a", "b"}}}
	for _, tt := range []struct {
		ctx  context.Context
		want answer
		code apierror.Code
		why  string
	}{
		{authz.WithUser(t.Context(), alice), answer{User: "alice", Groups: []string{"dev", "ops"}, Extra: []string{"a", "b"}}, "", "the user of the context"},
		{instanceproxy.AsKairship(authz.WithUser(t.Context(), alice)), answer{User: "kairship"}, "", "Kairship, said in so many words"},
		{t.Context(), answer{}, apierror.CodeInternal, "it is not stated as whom, and Kairship may do too much to be the default"},
		{as(t, "eve\r\nImpersonate-Group: system:masters"), answer{}, apierror.CodeForbidden, "a name must not become another header"},
		{as(t, ""), answer{}, apierror.CodeForbidden, "without a user's header, a request would be Kairship's"},
	} {
		got, err := askAs(tt.ctx, c, "alpha", "/api")
		if tt.code != "" {
			if apierror.CodeOf(err) != tt.code || err == nil {
				t.Errorf("%v, want %s: %s", err, tt.code, tt.why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %s", err, tt.why)
			continue
		}
		if diff := cmp.Diff(tt.want, answer{User: got.User, Groups: got.Groups, Extra: got.Extra}); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
	}
}

func TestCredentialsOfTheCallerStayHere(t *testing.T) {
	_, _, c := alphaWorld(t, nil, nil)
	client, err := c.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(as(t, "alice"), http.MethodGet, "http://elsewhere/api?x=1", http.NoBody)
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "Cookie": "secret", "Proxy-Authorization": "secret", "Impersonate-User": "admin", "Impersonate-Group": "secret",
		"Impersonate-Extra-Secret": "x", "X-Remote-User": "secret", "X-Remote-Extra-A": "secret",
		"Sec-WebSocket-Protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.secret",
	} {
		r.Header.Set(name, value)
	}
	before := r.Header.Clone()
	response, err := client.Transport().RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if bytes.Contains(raw, []byte("secret")) || !bytes.Contains(raw, []byte(`"User":"alice"`)) || !bytes.Contains(raw, []byte("v5.channel.k8s.io")) {
		t.Errorf("the instance got %s", raw)
	}
	if diff := cmp.Diff(before, r.Header); diff != "" {
		t.Errorf("the caller's request was changed: %s", diff)
	}
}

// An instance that does not heed impersonation would do everything as Kairship.
func TestDeafToImpersonation(t *testing.T) {
	_, s, c := alphaWorld(t, nil, nil)
	s.deaf.Store(true)
	if got, err := askAs(as(t, "alice"), c, "alpha", "/api"); !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("%+v %v, want INSTANCE_UNAVAILABLE", got, err)
	}
	s.deaf.Store(false)
	if _, err := askAs(as(t, "alice"), c, "alpha", "/api"); err != nil {
		t.Errorf("it heeds it again: %v", err)
	}
}

// What was refused with old credentials is sent again with new ones, whole.
func TestBodyIsSentAgain(t *testing.T) {
	w, s, c := alphaWorld(t, nil, nil)
	if _, err := askAs(as(t, "alice"), c, "alpha", "/api"); err != nil {
		t.Fatal(err)
	}
	for n, body := range []io.Reader{strings.NewReader("small"), io.MultiReader(strings.NewReader("a "), strings.NewReader("stream")), io.LimitReader(zeros{}, 1<<20)} {
		last, next := "good", "good"
		if n > 0 {
			last = fmt.Sprint("token", n-1)
		}
		next = fmt.Sprint("token", n)
		s.accept(next)
		s.revoke(last)
		before := s.refused.Load()
		go func() {
			// The new credentials arrive after the refusal.
			_ = poll.Try(t.Context(), patience, func(context.Context) error {
				if s.refused.Load() == before {
					return errors.New("nothing is refused yet")
				}
				return nil
			})
			w.put("alpha", s.kubeconfig(next))
		}()
		response, err := ask(as(t, "alice"), c, "alpha", http.MethodPost, "/api", body)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if want := []string{`"Body":"small"`, `"Body":"a stream"`, strings.Repeat("0", 1<<20)}[n]; response.StatusCode != http.StatusOK || !bytes.Contains(raw, []byte(want)) {
			t.Errorf("body %d: HTTP %d %.200s", n, response.StatusCode, raw)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = '0'
	}
	return len(p), nil
}

// Refused credentials without a replacement are Kairship's problem and not the caller's: a 401
// would have clients drop their own.
func TestRefusedCredentials(t *testing.T) {
	w, s, c := alphaWorld(t, nil, nil)
	s.revoke("good")
	if _, err := askAs(as(t, "alice"), c, "alpha", "/api"); !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("%v, want INSTANCE_UNAVAILABLE", err)
	}
	s.accept("better")
	w.put("alpha", s.kubeconfig("better"))
	poll.True(t, patience, "alpha's return", func() bool { _, err := askAs(as(t, "alice"), c, "alpha", "/api"); return err == nil })
}

// A 401 or 403 that is not about Kairship is the caller's.
func TestRefusalsFromBeyond(t *testing.T) {
	status := http.StatusUnauthorized
	_, _, c := alphaWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `User "x" cannot impersonate resource "users"`)
	}, nil)
	for _, status = range []int{http.StatusUnauthorized, http.StatusForbidden} {
		response, err := ask(as(t, "alice"), c, "alpha", http.MethodGet, "/member", nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != status || string(raw) != `User "x" cannot impersonate resource "users"` {
			t.Errorf("HTTP %d %s, want %d as it came", response.StatusCode, raw, status)
		}
	}
}

// stream answers with a first line, and a second when it is let.
func stream(more <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		w.(http.Flusher).Flush()
		select {
		case <-more:
			_, _ = io.WriteString(w, "second\n")
		case <-r.Context().Done():
		}
	}
}

// What is in flight ends on the connection that it was begun on.
func TestReplacementDrains(t *testing.T) {
	more := make(chan struct{})
	w, s, c := alphaWorld(t, stream(more), nil)
	response, err := ask(as(t, "alice"), c, "alpha", http.MethodGet, "/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	other := newAPIServer(t, "alpha", nil)
	other.accept("new")
	w.put("alpha", other.kubeconfig("new"))
	poll.True(t, patience, "the move to the other server", func() bool { _, err := askAs(as(t, "alice"), c, "alpha", "/"); return err == nil })
	s.revoke("good")
	close(more)
	raw, err := io.ReadAll(response.Body)
	if err != nil || string(raw) != "first\nsecond\n" {
		t.Errorf("the old stream gave %q, %v", raw, err)
	}
}

func TestDrainIsBounded(t *testing.T) {
	w, s, c := alphaWorld(t, stream(nil), func(o *instanceproxy.Options) { o.DrainTimeout = 100 * time.Millisecond })
	response, err := ask(as(t, "alice"), c, "alpha", http.MethodGet, "/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	s.accept("new")
	w.put("alpha", s.kubeconfig("new"))
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the stream ended as if it were complete")
	}
}

func TestDeletedInstance(t *testing.T) {
	w, _, c := alphaWorld(t, stream(nil), nil)
	client, err := c.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	response, err := ask(as(t, "alice"), c, "alpha", http.MethodGet, "/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	w.delete("alpha")
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("a stream of an instance that was removed goes on")
	}
	if _, err := c.Get(t.Context(), "alpha"); !apierror.Is(err, apierror.CodeNotFound) {
		t.Errorf("the instance that was removed: %v", err)
	}
	if _, err := client.Kubernetes().CoreV1().RESTClient().Get().AbsPath("/api").DoRaw(as(t, "alice")); !apierror.Is(err, apierror.CodeNotFound) {
		t.Errorf("the client of an instance that was removed: %v", err)
	}
}

// An instance that hangs is found out, left alone, and found again.
func TestBreaker(t *testing.T) {
	var hangs atomic.Bool
	hung := make(chan struct{})
	_, s, c := alphaWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if hangs.Load() {
			select {
			case <-hung:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "{}")
	}, func(o *instanceproxy.Options) {
		o.HeaderTimeout, o.Failures, o.RetryInterval = 2*time.Second, 3, 50*time.Millisecond
	})
	client, err := c.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := askAs(as(t, "alice"), c, "alpha", "/"); err != nil {
		t.Fatal(err)
	}
	hangs.Store(true)
	_, err = askAs(as(t, "alice"), c, "alpha", "/")
	if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Code != apierror.CodeInstanceUnavailable || e.Instance != "alpha" || strings.Contains(e.Error(), "127.0.0.1") {
		t.Errorf("%v (%#v), want INSTANCE_UNAVAILABLE of alpha without an address", err, e)
	}
	// One request was enough: the probes find out the rest.
	poll.True(t, patience, "the opening of the breaker", func() bool { return !client.Health().Available })
	asked := s.requests.Load()
	for range 50 {
		if _, err := askAs(as(t, "alice"), c, "alpha", "/"); !apierror.Is(err, apierror.CodeInstanceUnavailable) {
			t.Fatalf("with the breaker open: %v", err)
		}
	}
	if more := s.requests.Load() - asked; more > 5 {
		t.Errorf("%d requests reached the instance while the breaker was open, want only probes", more)
	}
	hangs.Store(false)
	close(hung)
	poll.True(t, patience, "the return", func() bool { return client.Health().Available })
	if _, err := askAs(as(t, "alice"), c, "alpha", "/"); err != nil {
		t.Errorf("after the return: %v", err)
	}
}

// Requests that their callers cancel do not count as failures of the instance.
func TestImpatientCallers(t *testing.T) {
	_, _, c := alphaWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Second):
			}
			return
		}
		_, _ = io.WriteString(w, "{}")
	}, func(o *instanceproxy.Options) { o.Failures = 2 })
	if _, err := askAs(as(t, "alice"), c, "alpha", "/"); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(as(t, "alice"), 20*time.Millisecond)
		_, err := askAs(ctx, c, "alpha", "/slow")
		cancel()
		if !apierror.Is(err, apierror.CodeInstanceUnavailable) {
			t.Errorf("a deadline that passed: %v", err)
		}
		ctx, cancel = context.WithCancel(as(t, "alice"))
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := askAs(ctx, c, "alpha", "/slow"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who went away: %v", err)
		}
	}
	if _, err := askAs(as(t, "alice"), c, "alpha", "/"); err != nil {
		t.Errorf("others pay for it: %v", err)
	}
}

func TestLimit(t *testing.T) {
	_, _, c := alphaWorld(t, nil, func(o *instanceproxy.Options) { o.QPS, o.Burst = 0.1, 3 })
	codes := map[apierror.Code]int{}
	for range 5 {
		_, err := askAs(as(t, "alice"), c, "alpha", "/")
		if err == nil {
			codes["none"]++
		} else {
			codes[apierror.CodeOf(err)]++
		}
	}
	if diff := cmp.Diff(map[apierror.Code]int{"none": 3, apierror.CodeRateLimited: 2}, codes); diff != "" {
		t.Error(diff)
	}
}

func TestNoCredentials(t *testing.T) {
	w, _, c := alphaWorld(t, nil, nil)
	for what, kubeconfig := range map[string]string{
		"nothing": "", "nonsense": "{secret", "a program": "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {exec: {command: secret}}}]",
	} {
		w.put("broken", []byte(kubeconfig))
		_, err := askAs(as(t, "alice"), c, "broken", "/")
		if !apierror.Is(err, apierror.CodeInstanceUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s for credentials: %v", what, err)
		}
		w.delete("broken")
	}
	if _, err := askAs(as(t, "alice"), c, "alpha", "/"); err != nil {
		t.Errorf("another instance pays for it: %v", err)
	}
}

// TestNoAuthority: a kubeconfig with a token and no CA is checked with the authorities that
// this machine trusts, of which the test's is none.
func TestNoAuthority(t *testing.T) {
	w, s, c := alphaWorld(t, nil, nil)
	config, err := clientcmd.Load(s.kubeconfig("alpha-token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.CertificateAuthorityData = nil
	}
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	w.put("public", kubeconfig)
	if _, err := askAs(as(t, "alice"), c, "public", "/"); !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("got %v, want %s", err, apierror.CodeInstanceUnavailable)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	w, _, c := alphaWorld(t, nil, func(o *instanceproxy.Options) { o.Registerer = registry })
	if _, err := askAs(as(t, "alice"), c, "alpha", "/secret-path"); err != nil {
		t.Fatal(err)
	}
	series := func() (n int, text string) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			n += len(f.GetMetric())
			text += f.String()
		}
		return n, text
	}
	n, text := series()
	if n == 0 || strings.Contains(text, "alice") || strings.Contains(text, "secret-path") || !strings.Contains(text, "kairship_instance_requests_total") {
		t.Errorf("%d series: %s", n, text)
	}
	if strings.Contains(text, `value:"watch"`) {
		t.Errorf("a read counts as a watch: %s", text)
	}
	if _, err := askAs(as(t, "alice"), c, "alpha", "/secret-path?watch=True"); err != nil {
		t.Fatal(err)
	}
	if _, text := series(); !strings.Contains(text, `value:"watch"`) {
		t.Errorf("a watch counts as a read: %s", text)
	}
	w.delete("alpha")
	if n, text := series(); n != 0 {
		t.Errorf("%d series of an instance that was removed: %s", n, text)
	}
}
