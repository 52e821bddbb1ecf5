package instanceproxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
)

// anybody accepts every caller as alice, and lets her do everything.
type anybody struct{}

func (anybody) Authenticate(context.Context, authz.Credentials) (authz.User, error) {
	return authz.User{Name: "alice"}, nil
}

func (anybody) Rules(context.Context, authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}, nil
}

// front is the passthrough before the instances of a collection, with what its
// server logs.
func front(t *testing.T, c *instanceproxy.Collection, logged io.Writer) (address string) {
	t.Helper()
	reviews := kubefake.NewClientset().AuthorizationV1().SubjectAccessReviews()
	h, err := passthrough.New(passthrough.Config{
		Clients: c, Authenticator: anybody{}, Permissions: authz.NewResolver(anybody{}, reviews, nil, nil), Reviews: reviews,
		Audit:  &audit.Log{Logger: slog.New(slog.DiscardHandler), Exists: func(context.Context, string) bool { return true }},
		Logger: slog.New(slog.DiscardHandler),
		Quotas: quota.New(quota.Limits{}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(logged, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// says sends raw bytes, which may be no valid request, and returns the response; cut closes the
// sending side afterwards.
func says(t *testing.T, address, raw string, cut bool) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	if cut {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	reader := bufio.NewReader(conn)
	for {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Errorf("%.100q: %v", raw, err)
			return &http.Response{}
		}
		response.Body.Close()
		if response.StatusCode != http.StatusContinue {
			return response
		}
	}
}

// Whatever a caller sends, it says nothing about the instance.
func TestCallersFaults(t *testing.T) {
	_, _, c := alphaWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler) // No answer may come in between.
		}
	}, func(o *instanceproxy.Options) { o.Failures, o.RetryInterval = 1, time.Hour })
	client, err := c.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	logged := &lockedBuilder{}
	address := front(t, c, logged)
	const (
		path    = "/instances/alpha/proxy/api "
		begin   = "GET " + path + "HTTP/1.1\r\nHost: kairship\r\n"
		chunked = begin + "Transfer-Encoding: chunked\r\n"
		upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	)
	for _, tt := range []struct {
		raw    string
		cut    bool
		status int
		// code is Kairship's; empty where net/http or the instance answers.
		code apierror.Code
		why  string
	}{
		{begin + "\r\n", false, 200, "", "nothing is wrong"},
		{chunked + "\r\n3\r\nabc\r\nZZZ\r\n", false, 400, apierror.CodeInvalid, "a chunk without a size"},
		{chunked + "\r\n3\r\nabcdef\r\n", false, 400, apierror.CodeInvalid, "a chunk that is longer than it says"},
		{chunked + "\r\n10\r\nabc", true, 499, "", "a chunk that breaks off, as its connection does"},
		{chunked + "Expect: 100-continue\r\n\r\nZZZ\r\n", false, 400, apierror.CodeInvalid, "the same, behind an agreement to send it"},
		{chunked + "Trailer: X-A\r\n\r\n0\r\nno trailer\r\n\r\n", false, 400, apierror.CodeInvalid, "a trailer that is none"},
		{begin + "Content-Length: 10\r\n\r\nabc", true, 499, "", "a body shorter than announced"},
		{begin + "Content-Length: 3\r\n\r\nabcdef", false, 200, "", "a body longer than announced is another request"},
		{chunked + "Trailer: foo bar\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false, 200, "", "a trailer's name that can't be sent"},
		{chunked + "Te: trailers\r\nTrailer: X-A, X-B\r\n\r\n3\r\nabc\r\n0\r\nX-A: \x01\r\n\r\n", false, 400, apierror.CodeInvalid, "a trailer's value that can't be sent"},
		{chunked + "Trailer: Content-Length\r\n\r\n0\r\n\r\n", false, 400, "", "a trailer that may be none"},
		{chunked + upgrade + "\r\nZZZ\r\n", false, 400, apierror.CodeInvalid, "a broken body on its way to become a stream"},
		{begin + upgrade + "Content-Length: 10\r\n\r\nabc", true, 499, "", "the same, shorter than announced"},
		{begin + upgrade + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", false, 200, "", "an upgrade with a body"},
		{begin + "Connection: Upgrade\r\nUpgrade: \xc3\xa9\r\n\r\n", false, 503, apierror.CodeInstanceUnavailable, "a protocol that can't be named"},
		{begin + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 50) + "\r\n", false, 400, apierror.CodeInvalid, "more headers than the instance takes"},
		{begin + "Expect: nonsense\r\n\r\n", false, 417, "", "an expectation that is not known"},
		{begin + "X A: b\r\n\r\n", false, 400, "", "a header's name that can't be sent"},
		{begin + "X-A: \x01\r\n\r\n", false, 400, "", "a header's value that can't be sent"},
		{begin + ":protocol: websocket\r\n\r\n", false, 400, "", "a header of HTTP/2"},
		{begin + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", false, 400, "", "two lengths"},
		{"GET http://elsewhere.example" + path + "HTTP/1.1\r\nHost: kairship\r\n\r\n", false, 200, "", "an address in full"},
		{"GET " + path + "HTTP/1.1\r\nHost: [::1%25eth0]:99999\r\n\r\n", false, 200, "", "a host that is nowhere"},
		{"GET " + path + "HTTP/1.1\r\nHost: a/b c\r\n\r\n", false, 400, "", "a host that is none"},
		{"GET /instances/alpha/proxy/a%00%ff?%zz;=\xff HTTP/1.1\r\nHost: kairship\r\n\r\n", false, 200, "", "an odd path and query"},
		{"GET /instances/alpha/proxy/a%00%ff?%zz;=\xff HTTP/1.1\r\nHost: kairship\r\n" + upgrade + "\r\n", false, 200, "", "the same for a stream"},
	} {
		for range 5 {
			response := says(t, address, tt.raw, tt.cut) //nolint:bodyclose // says closes it.
			if code := response.Header.Get(passthrough.CodeHeader); response.StatusCode != tt.status || code != string(tt.code) {
				t.Errorf("HTTP %d %s, want %d %s: %s", response.StatusCode, code, tt.status, tt.code, tt.why)
			}
			if !client.Health().Available {
				t.Fatalf("the breaker is open for everybody: %s", tt.why)
			}
		}
	}
	if text := logged.String(); strings.Contains(text, "panic") {
		t.Errorf("the server logs %s", text)
	}
}

// What the connection to the instance does counts, whatever the caller sends.
func TestInstancesFaults(t *testing.T) {
	cut := func(linger int) func(http.ResponseWriter, *http.Request, *apiserver) {
		return func(w http.ResponseWriter, _ *http.Request, _ *apiserver) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(linger)
			_ = conn.(*tls.Conn).NetConn().Close()
		}
	}
	for _, tt := range []struct {
		upgrade bool
		// before the request is sent, and while it is answered; either may be nil.
		before func(*apiserver)
		during func(http.ResponseWriter, *http.Request, *apiserver)
		why    string
	}{
		{false, func(s *apiserver) { s.CloseClientConnections(); s.Close() }, nil, "there is no listener"},
		{true, func(s *apiserver) { s.CloseClientConnections(); s.Close() }, nil, "there is no listener for a stream"},
		{false, nil, func(_ http.ResponseWriter, r *http.Request, _ *apiserver) { <-r.Context().Done() }, "no answer begins"},
		{true, nil, func(_ http.ResponseWriter, r *http.Request, _ *apiserver) { <-r.Context().Done() }, "no answer begins for a stream"},
		{false, nil, func(http.ResponseWriter, *http.Request, *apiserver) { panic(http.ErrAbortHandler) }, "the request is given up"},
		{false, nil, func(_ http.ResponseWriter, r *http.Request, s *apiserver) {
			s.CloseClientConnections()
			<-r.Context().Done()
		}, "the connection ends"},
		{true, nil, cut(1), "the connection of a stream ends"},
		{true, nil, cut(0), "the connection of a stream is reset"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			var s *apiserver
			_, s, c := alphaWorld(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/fails" && tt.during != nil {
					_, _ = io.Copy(io.Discard, r.Body)
					tt.during(w, r, s)
				}
			}, func(o *instanceproxy.Options) {
				o.Failures, o.RetryInterval, o.HeaderTimeout = 1, time.Hour, 2*time.Second
			})
			client, err := c.Get(t.Context(), "alpha")
			if err != nil {
				t.Fatal(err)
			}
			response, err := ask(as(t, "alice"), c, "alpha", http.MethodGet, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if tt.before != nil {
				tt.before(s)
			}
			r, _ := http.NewRequestWithContext(as(t, "alice"), http.MethodPost, "https://x/fails", io.MultiReader(strings.NewReader("a body")))
			if tt.upgrade {
				r.Header.Set("Connection", "Upgrade")
				r.Header.Set("Upgrade", "websocket")
			}
			if _, err := client.Transport().RoundTrip(r); !apierror.Is(err, apierror.CodeInstanceUnavailable) { //nolint:bodyclose // There is none.
				t.Errorf("%v, want INSTANCE_UNAVAILABLE", err)
			}
			if client.Health().Available {
				t.Error("the breaker took no notice")
			}
		})
	}
}

// TestFaultsBehindAnInstance checks that a server behind an instance may hang without an effect on
// other requests: the instance is probed, and its breaker stays closed.
func TestFaultsBehindAnInstance(t *testing.T) {
	for _, path := range []string{
		"/api/v1/namespaces/shop/services/hangs/proxy/x",
		"/apis/cluster.karmada.io/v1alpha1/clusters/hangs/proxy/api/v1/pods",
		"/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/shop/pods/hangs/log",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			_, s, c := alphaWorld(t, func(_ http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "hangs") {
					<-r.Context().Done()
				}
			}, func(o *instanceproxy.Options) {
				o.Failures, o.RetryInterval, o.HeaderTimeout = 1, 50*time.Millisecond, 2*time.Second
			})
			client, err := c.Get(t.Context(), "alpha")
			if err != nil {
				t.Fatal(err)
			}
			send := func() {
				t.Helper()
				r, _ := http.NewRequestWithContext(as(t, "alice"), http.MethodGet, "https://x"+path, http.NoBody)
				if _, err := client.Transport().RoundTrip(r); !apierror.Is(err, apierror.CodeInstanceUnavailable) { //nolint:bodyclose // There is none.
					t.Errorf("%v, want INSTANCE_UNAVAILABLE", err)
				}
			}
			for range 3 {
				send()
				if !client.Health().Available {
					t.Fatal("the breaker is open, by what is behind the instance")
				}
			}
			// One that is away is found out even without other requests to it.
			s.CloseClientConnections()
			s.Close()
			send()
			poll.True(t, 10*time.Second, "it is noticed that the instance is away", func() bool { return !client.Health().Available })
		})
	}
}

// lockedBuilder takes what several write.
type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String implements fmt.Stringer.
func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
